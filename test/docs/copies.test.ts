/** The program of the page "Following changes" that keeps a copy, killed where an id that is stored too early shows. */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { readAll } from '../support/calls/rest-client.ts';
import { change } from '../support/machine/database.ts';
import { listen, type Scope, temporaryFolder } from '../support/scope.ts';
import { Program } from '../support/service/process.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

const test = stackTest();

const LISTS = { category: '/categories', pet: '/pets', inventory: '/store/inventory', order: '/store/orders' };

async function holdingProxy(t: Scope, target: string) {
  const proxy = { url: '', isHolding: true, held: 0 };
  const server = createServer(async ({ url = '', headers }, response) => {
    if (!url.startsWith('/events')) {
      proxy.held += 1;
      while (proxy.isHolding && !response.destroyed) await delay(20);
    }
    const forwarded = request(target + url, { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    response.once('close', () => forwarded.destroy());
    forwarded.once('error', () => response.destroy()).end();
  });
  proxy.url = `http://${await listen(t, server)}`;
  return proxy;
}

/** The shop as the copies have it. */
async function lists({ rest }: TestStack): Promise<object> {
  const kinds = Object.entries(LISTS).map(async ([kind, path]) => {
    const rows = await readAll<{ id?: number; petId?: number }>(rest, path);
    return [kind, Object.fromEntries(rows.map((row) => [row.id ?? row.petId, row]))];
  });
  return Object.fromEntries(await Promise.all(kinds));
}

async function changeAll({ rest }: TestStack): Promise<void> {
  const petId = await rest.pet({ stock: 3 });
  await rest.post('/store/orders', { petId, quantity: 3 });
  await rest.delete(`/pets/${await rest.pet()}`);
}

test('A copy - misses nothing when it is killed between ready and the lists, or later', async (t) => {
  const page = await readFile('docs/callers/following-changes.md', 'utf8');
  const [, name = '', code = ''] = /`node (\S+)`[^`]*```js\n(.+?)^```/ms.exec(page) ?? [];
  const cwd = temporaryFolder(t);
  const file = `${cwd}/${name}`;
  await writeFile(file, code);
  const proxy = await holdingProxy(t, t.context.rest.url);
  const env = { ...process.env, API: proxy.url, API_KEY: t.context.key };
  await changeAll(t.context);
  const start = () => new Program(process.execPath, [file], { cwd, env });
  let program = start();
  t.teardown(() => program.end('SIGKILL'));
  /** Kills it, and starts it again after what happens meanwhile. */
  const startAgain = async (meanwhile: () => unknown = () => undefined) => {
    await program.end('SIGKILL');
    await meanwhile();
    program = start();
  };
  const isEqual = async () => {
    if (program.hasEnded) throw new Error(program.errors);
    const { cursor, ...copy } = JSON.parse(await readFile(`${cwd}/copy.json`, 'utf8').catch(() => '{}'));
    return isDeepStrictEqual(copy, await lists(t.context));
  };
  await until(() => proxy.held > 0, 'the first list');
  await changeAll(t.context);
  await program.end('SIGKILL');
  proxy.isHolding = false;
  await startAgain();
  await until(isEqual, 'what the lists say');
  await changeAll(t.context);
  await until(isEqual, 'the events');
  await startAgain(() => changeAll(t.context));
  await until(isEqual, 'the events since');
  const { dataDir } = t.context.config;
  await startAgain(async () => {
    await changeAll(t.context);
    change(dataDir, 'DELETE FROM events WHERE id < (SELECT max(id) FROM events)');
  });
  await until(isEqual, 'the lists again, since events have expired');
  await startAgain(() => change(dataDir, 'DELETE FROM events')); // as in a backup of before
  await until(() => program.errors.includes('has not been reached'), 'EVENT_NOT_REACHED');
  await changeAll(t.context);
  await until(isEqual, 'the lists again, since the feed is older');
  t.false(program.hasEnded);
});
