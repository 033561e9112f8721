/**
 * A health check for images without a shell or curl, and for systemd. Exits with 0 if all is well.
 *
 *   node probe.mjs http://127.0.0.1:9464/metrics   the response is a 200
 *   node probe.mjs healthz                         the public port of the settings responds with 200 to /healthz
 *   node probe.mjs open PORT                       the port of a setting accepts a connection, and keeps it open
 *
 * With --wait it asks again until that is so, or systemd's MAINPID has ended: systemd then starts that process again,
 * but only after this one. The certificate of an https URL is not verified: it is for another name than 127.0.0.1.
 * With PROXY_PROTOCOL only proxies can send requests, so /healthz only has to accept a connection.
 */
import http from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const GIVE_UP_MS = 2_500;
const AGAIN_MS = 200;
/** A program that starts opens its ports for a moment, to see that they are free. It closes what connects then. */
const STAYS_OPEN_MS = 500;
/** The defaults of the settings. */
const { HOST = '127.0.0.1', PORT = '8080', GRPC_HOST = '127.0.0.1', GRPC_PORT = '50051' } = process.env;
const { TLS_CERT = '', PROXY_PROTOCOL, MAINPID = process.pid } = process.env;

/** @param {string} host An address that a port listens on. */
function reachable(host) {
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return address.includes(':') ? `[${address}]` : address;
}

/** @type {Record<string, string>} */
const TARGETS = {
  PORT: `tcp://${reachable(HOST)}:${PORT}`,
  GRPC_PORT: `tcp://${reachable(GRPC_HOST)}:${GRPC_PORT}`,
};

/** @param {readonly string[]} words */
function toUrl([what = '', setting = '']) {
  if (what === 'open') return new URL(TARGETS[setting] ?? '');
  if (what !== 'healthz') return new URL(what);
  if (PROXY_PROTOCOL === 'yes') return new URL(TARGETS.PORT ?? '');
  return new URL(`${TLS_CERT === '' ? 'http' : 'https'}://${reachable(HOST)}:${PORT}/healthz`);
}

/**
 * @param {URL} url
 * @returns {Promise<string | undefined>} What is wrong.
 */
function problemOf({ protocol, hostname, port, pathname }) {
  const host = hostname.replace(/^\[|]$/g, '');
  return new Promise((resolve) => {
    setTimeout(() => resolve(`no answer in ${GIVE_UP_MS} ms`), GIVE_UP_MS);
    if (protocol === 'tcp:') {
      connect({ host, port: Number(port) }, () => setTimeout(() => resolve(undefined), STAYS_OPEN_MS))
        .on('error', ({ message }) => resolve(message))
        .on('close', () => resolve('the connection was closed at once'));
      return;
    }
    const { get } = protocol === 'https:' ? https : http;
    const request = get({ host, port: port || undefined, path: pathname, rejectUnauthorized: false, agent: false });
    request.on('response', ({ statusCode }) => resolve(statusCode === 200 ? undefined : `status ${statusCode}`));
    request.on('error', ({ message }) => resolve(message));
  });
}

const words = process.argv.slice(2);
const isPatient = words[0] === '--wait';
const url = toUrl(isPatient ? words.slice(1) : words);
let problem = await problemOf(url);
// Not by /proc, in which the sandbox hides it.
const isRunning = () => Promise.try(() => process.kill(Number(MAINPID), 0)).catch(() => false);
for (; isPatient && problem !== undefined && (await isRunning()); problem = await problemOf(url)) await delay(AGAIN_MS);
if (problem !== undefined) process.stderr.write(`probe: ${problem}\n`);
process.exit(problem === undefined ? 0 : 1);
