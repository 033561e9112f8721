/**
 * Test hosts: network namespaces on one bridge, each with its own address and host names. They need root and
 * iproute2. The test process has the first address of the bridge.
 */
import { execFile, execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../support/machine/find-program.ts';
import { TcpProxy } from '../support/machine/tcp-proxy.ts';

const FOLDER = '/etc/netns';

/** What is missing, for `testUnless`. */
export const noNamespaces = whyNot();

function whyNot(): string | undefined {
  if (findProgram(['ip'], ['/usr/sbin', '/sbin']) === undefined)
    return 'ip is not installed (apt-get install iproute2)';
  try {
    for (const does of ['add', 'delete']) execFileSync('ip', ['netns', does, `ps${process.pid}`], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'NETWORK NAMESPACES ARE NOT PERMITTED, so nothing of this file is tested: it needs root';
  }
}

/** Types of DNS records. */
const [A, AAAA] = [1, 28] as const;

const ip = (...args: string[]) => promisify(execFile)('ip', args);

export interface Host {
  readonly address: string;
  /** A command that executes the command after it on the host. */
  readonly run: readonly string[];
}

export class Network {
  readonly #id = randomInt(0x1000, 0xffff).toString(16);
  readonly #prefix = `10.${randomInt(100, 250)}.${randomInt(1, 250)}`;
  readonly #hosts: string[] = [];
  /** The current addresses of names in the hosts' DNS server. */
  readonly names = new Map<string, readonly string[]>();
  /** Whether the DNS server fails with SERVFAIL. */
  isDnsFailing = false;
  readonly #closing: (() => void)[] = [];

  /** The address of the test process. */
  get address(): string {
    return `${this.#prefix}.1`;
  }

  static async create(): Promise<Network> {
    const network = new Network();
    await ip('link', 'add', network.#bridge, 'type', 'bridge');
    await ip('address', 'add', `${network.address}/24`, 'dev', network.#bridge);
    await ip('link', 'set', network.#bridge, 'up');
    await network.#serveNames();
    return network;
  }

  get #bridge(): string {
    return `ps${this.#id}`;
  }

  /** Adds a host with `lines` in its /etc/hosts. It resolves all other names with the network's DNS server. */
  async addHost(lines: readonly string[] = []): Promise<Host> {
    const number = this.#hosts.length + 11;
    const name = `ps${this.#id}-${number}`;
    const [outside, inside] = [`pv${this.#id}${number}`, `pi${this.#id}${number}`];
    const address = `${this.#prefix}.${number}`;
    await mkdir(join(FOLDER, name), { recursive: true });
    await writeFile(join(FOLDER, name, 'hosts'), ['127.0.0.1 localhost', ...lines, ''].join('\n'));
    await writeFile(join(FOLDER, name, 'resolv.conf'), `nameserver ${this.address}\n`);
    this.#hosts.push(name);
    await ip('netns', 'add', name);
    await ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', inside);
    await ip('link', 'set', outside, 'master', this.#bridge, 'up');
    await ip('link', 'set', inside, 'netns', name);
    await ip('-n', name, 'address', 'add', `${address}/24`, 'dev', inside);
    await ip('-n', name, 'link', 'set', inside, 'up');
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    return { address, run: ['ip', 'netns', 'exec', name] };
  }

  /** Forwards a port of the test's address to this machine's loopback. */
  async open(port: number): Promise<void> {
    const proxy = await TcpProxy.open(port, this.address, port);
    this.#closing.push(() => void proxy.close());
  }

  /** Starts a DNS server (RFC 1035). Each name also has an IPv6 address (RFC 3596), which nobody can reach. */
  async #serveNames(): Promise<void> {
    const socket = createSocket('udp4');
    socket.on('message', (query, from) => socket.send(this.#respond(query), from.port, from.address));
    await new Promise<void>((resolve) => socket.bind(53, this.address, resolve));
    this.#closing.push(() => socket.close());
  }

  #respond(message: Buffer): Buffer {
    const labels: string[] = [];
    let end = 12;
    for (let length = message[end] ?? 0; length > 0; length = message[end] ?? 0) {
      labels.push(message.toString('latin1', end + 1, end + 1 + length));
      end += 1 + length;
    }
    const type = message.readUInt16BE(end + 1);
    const known = this.isDnsFailing ? [] : (this.names.get(labels.join('.').toLowerCase()) ?? []);
    const addresses = { [A]: known, [AAAA]: known.length === 0 ? [] : ['fd00::1'] }[type] ?? [];
    const header = Buffer.from(message.subarray(0, 12));
    header.writeUInt16BE(this.isDnsFailing ? 0x8582 : 0x8580, 2); // an authoritative response, or SERVFAIL
    for (const [at, count] of [1, addresses.length, 0, 0].entries()) header.writeUInt16BE(count, 4 + 2 * at);
    const answers = addresses.map((address) => {
      const bytes = type === A ? address.split('.').map(Number) : [0xfd, ...Array(14).fill(0), 1];
      return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, bytes.length, ...bytes]);
    });
    return Buffer.concat([header, message.subarray(12, end + 5), ...answers]);
  }

  /** Removes the network. Processes on its hosts must have ended. */
  async remove(): Promise<void> {
    for (const close of this.#closing) close();
    for (const name of this.#hosts) {
      await ip('netns', 'delete', name).catch(() => undefined);
      await rm(join(FOLDER, name), { recursive: true, force: true });
    }
    await ip('link', 'delete', this.#bridge).catch(() => undefined);
  }
}
