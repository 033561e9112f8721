/**
 * A health check for images without a shell or curl. `node probe.mjs http://127.0.0.1:8080/healthz` exits with 0 if the
 * response is a 200, `node probe.mjs tcp://127.0.0.1:50051` if the port accepts a connection. The certificate of an
 * https URL is not verified: it is the container's own, and not for 127.0.0.1.
 */
import http from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';

const GIVE_UP_MS = 2_500;

/** @param {string} [why] */
function end(why) {
  if (why !== undefined) process.stderr.write(`probe: ${why}\n`);
  process.exit(why === undefined ? 0 : 1);
}

setTimeout(() => end(`no answer in ${GIVE_UP_MS} ms`), GIVE_UP_MS).unref();
const url = new URL(process.argv[2] ?? '');
const target = { host: url.hostname, port: Number(url.port) };
if (url.protocol === 'tcp:') {
  connect(target, () => end()).on('error', (error) => end(error.message));
} else {
  const options = { ...target, path: url.pathname, rejectUnauthorized: false };
  const request = (url.protocol === 'https:' ? https : http).get(options, ({ statusCode }) =>
    end(statusCode === 200 ? undefined : `status ${statusCode}`),
  );
  request.on('error', (error) => end(error.message));
}
