/**
 * Test hosts: addresses of the loopback network, and programs whose /etc/hosts and DNS server are the test's own. It
 * needs root, for the mounts and for port 53.
 */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scope } from '../support/scope.ts';

/** Types of DNS records. */
const [A, AAAA] = [1, 28] as const;

/** Starts a DNS server (RFC 1035). Each name also has an IPv6 address (RFC 3596), which nobody can reach. */
export async function startNetwork(t: Scope) {
  const prefix = `127.${randomInt(100, 250)}.${randomInt(1, 250)}`;
  const address = (number: number) => `${prefix}.${number}`;
  const network = {
    /** An address of the network. */
    address,
    /** The current addresses of names in the DNS server. */
    names: new Map<string, readonly string[]>(),
    /** Whether the DNS server fails with SERVFAIL. */
    isDnsFailing: false,
    /** A command that executes the one after it with `lines` in /etc/hosts. The DNS server has all other names. */
    withNames(folder: string, lines: readonly string[]): readonly string[] {
      writeFileSync(join(folder, 'hosts'), ['127.0.0.1 localhost', ...lines, ''].join('\n'));
      writeFileSync(join(folder, 'resolv.conf'), `nameserver ${address(1)}\n`);
      const mounts = ['hosts', 'resolv.conf'].map((file) => `mount --bind ${join(folder, file)} /etc/${file}`);
      return ['unshare', '--mount', 'sh', '-euc', `${mounts.join('; ')}; exec "$@"`, 'sh'];
    },
  };
  const respond = (message: Buffer): Buffer => {
    const labels: string[] = [];
    let end = 12;
    for (let length = message[end] ?? 0; length > 0; length = message[end] ?? 0) {
      labels.push(message.toString('latin1', end + 1, end + 1 + length));
      end += 1 + length;
    }
    const type = message.readUInt16BE(end + 1);
    const known = network.isDnsFailing ? [] : (network.names.get(labels.join('.').toLowerCase()) ?? []);
    const addresses = { [A]: known, [AAAA]: known.length === 0 ? [] : ['fd00::1'] }[type] ?? [];
    const header = Buffer.from(message.subarray(0, 12));
    header.writeUInt16BE(network.isDnsFailing ? 0x8582 : 0x8580, 2); // an authoritative response, or SERVFAIL
    for (const [at, count] of [1, addresses.length, 0, 0].entries()) header.writeUInt16BE(count, 4 + 2 * at);
    const answers = addresses.map((one) => {
      const bytes = type === A ? one.split('.').map(Number) : [0xfd, ...Array(14).fill(0), 1];
      return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, bytes.length, ...bytes]);
    });
    return Buffer.concat([header, message.subarray(12, end + 5), ...answers]);
  };
  const socket = createSocket('udp4');
  t.teardown(() => socket.close());
  socket.on('message', (query, from) => socket.send(respond(query), from.port, from.address));
  await new Promise<void>((resolve) => socket.bind(53, address(1), resolve));
  return network;
}
