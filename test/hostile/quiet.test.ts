/** What callers can make the service log: no header that it can't read. */
import { readFile } from 'node:fs/promises';
import { Http1Connection } from '../support/hostile/http1-connection.ts';
import { rawGrpc } from '../support/hostile/http2.ts';
import { hostileTest } from '../support/hostile/service.ts';
import { grpcFrame, targetOf } from '../support/hostile/sockets.ts';
import type { TestStack } from '../support/stack.ts';

const test = hostileTest({ LOG_LEVEL: 'info' });

/** A value that must not be logged. */
const VALUE = 'nobody needs to see this ';
/** Enough for one log line about the error. */
const MAX_GROWTH = 1_000;

/** Sends the bytes of a request, and waits for the response. */
async function send({ publicAddress }: TestStack, request: string): Promise<void> {
  const connection = new Http1Connection(targetOf(publicAddress, '127.0.0.2'));
  await connection.exchange(Buffer.from(request, 'latin1'), { giveUpMs: 2_000 });
  connection.close();
}

/** All logs but the access log, which has a line for each request. */
async function logsOf({ stack: { servers, envoy } }: TestStack): Promise<string> {
  const all = await Promise.all([...servers, envoy].map(({ log }) => readFile(log.path, 'latin1')));
  return all.join('');
}

test.serial('Logs - contain no header with bytes above ASCII', async (t) => {
  for (const byte of ['\xe9', '\xff', '\x80']) {
    const before = (await logsOf(t.context)).length;
    for (const authorization of ['', `Authorization: Bearer ${t.context.key}\r\n`]) {
      const large = `X-Odd: ${byte}${VALUE.repeat(1_500)}\r\n`;
      await send(t.context, `GET /pets HTTP/1.1\r\nHost: petstore\r\n${authorization}${large}\r\n`);
    }
    const growth = (await logsOf(t.context)).length - before;
    t.true(growth < MAX_GROWTH, `they grew by ${growth} bytes`);
    for (const address of [t.context.publicAddress, t.context.grpcAddress]) {
      const headers = { 'x-odd': `${byte}${VALUE}` };
      const call = { path: '/petstore.v1.PetService/ListPets', headers, body: grpcFrame() };
      await rawGrpc(targetOf(address, '127.0.0.2'), call);
    }
  }
  t.false((await logsOf(t.context)).includes(VALUE));
});
