/** Headers with bytes above ASCII, and what the service logs of them. */
import { readFile } from 'node:fs/promises';
import type { TestStack } from '../stack.ts';
import { until } from '../until.ts';
import { openSession, openSocket, targetOf } from './sockets.ts';

/** A value that must not be logged. */
export const VALUE = 'nobody needs to see this ';
export const ODD_BYTES = ['\xe9', '\xff', '\x80'];

/** Sends the bytes of an HTTP/1.1 request. Resolves after the response. */
export async function sendBytes({ publicAddress }: TestStack, request: string): Promise<void> {
  const socket = openSocket(targetOf(publicAddress, '127.0.0.2'));
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    answer += chunk;
  });
  socket.write(Buffer.from(request, 'latin1'));
  await until(() => answer.includes('\r\n\r\n') || socket.closed, 'the answer');
  socket.destroy();
}

/**
 * Sends a header of 50 KB of the same byte, without a key and with one. Resolves with the growth of the logs in bytes.
 */
export async function logGrowth(stack: TestStack, byte: string): Promise<number> {
  const before = (await logsOf(stack)).length;
  for (const authorization of ['', `Authorization: Bearer ${stack.key}\r\n`]) {
    const large = `X-Odd: ${byte}${VALUE.repeat(1_500)}\r\n`;
    await sendBytes(stack, `GET /pets HTTP/1.1\r\nHost: petstore\r\n${authorization}${large}\r\n`);
  }
  return (await logsOf(stack)).length - before;
}

/** The size of all logs but the access log, which has a line for each request. */
export async function logsOf({ stack: { servers, envoy } }: TestStack): Promise<string> {
  const all = await Promise.all([...servers, envoy].map(({ log }) => readFile(log.path, 'latin1')));
  return all.join('');
}

/** Sends the byte in a gRPC call, to the public port or the private one. */
export async function callWithByte(address: string, byte: string): Promise<void> {
  const session = await openSession(targetOf(address, '127.0.0.2'));
  const headers = { ':path': '/petstore.v1.PetService/ListPets', ':method': 'POST', te: 'trailers' };
  const stream = session.request({ ...headers, 'content-type': 'application/grpc', 'x-odd': `${byte}${VALUE}` });
  const closed = new Promise((resolve) => stream.on('close', resolve));
  stream.on('error', () => undefined);
  stream.end(Buffer.alloc(5));
  stream.resume();
  await closed;
  session.destroy();
}
