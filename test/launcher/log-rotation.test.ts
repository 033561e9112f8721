/** Rotation of logs at their maximum size, while the service writes them. */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PetServiceService } from '../../gen/petstore/v1/pets.ts';
import { rotateLogs } from '../../src/launcher/log-rotation.ts';
import { RestClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';
import { launch, type Test, test } from './launch.ts';

const MAX_BYTES = 20_000;

function logsOf(t: Test, name: string): string[] {
  const folder = join(t.context.settings.DATA_DIR ?? '', 'logs');
  const names = readdirSync(folder).filter((file) => file === name || file.startsWith(`${name}.`));
  return names.map((file) => join(folder, file));
}

interface Line {
  readonly request_id?: string;
  readonly requestId?: string;
  readonly method?: string;
}

/** The lines of a log, from all its files. */
function linesOf(t: Test, name: string): Line[] {
  const text = logsOf(t, name).map((file) => readFileSync(file, 'utf8'));
  return text.flatMap((lines) => lines.split('\n').filter(Boolean)).map((line) => JSON.parse(line));
}

test.serial('Rotation - under load loses no line of the server or of Envoy, and keeps the files private', async (t) => {
  const settings = { LOG_MAX_BYTES: `${MAX_BYTES}`, LOG_FILES: '1000', LOG_LEVEL: 'debug' };
  const launcher = launch(t, settings);
  const { url, key } = await launcher.opened();
  const rest = new RestClient(url, key);
  const ids: string[] = [];
  await until(
    async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => rest.get('/pets')));
      for (const { headers } of responses) ids.push(headers.get('x-request-id') ?? 'none');
      return logsOf(t, 'server.log').length > 3 && logsOf(t, 'access.log').length > 3;
    },
    'three rotations of each',
    90_000,
  );
  await launcher.end('SIGTERM'); // Envoy flushes its logs
  const count = (found: (string | undefined)[]) => {
    const counts = new Map<string | undefined, number>();
    for (const id of found) counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts;
  };
  const accesses = count(linesOf(t, 'access.log').map((line) => line.request_id));
  // Envoy asks about a key that it does not know with the id of the caller's request.
  const lists = linesOf(t, 'server.log').filter(({ method }) => method === PetServiceService.listPets.path);
  const calls = count(lists.map((line) => line.requestId));
  for (const id of ids) {
    if (accesses.get(id) !== 1) t.fail(`${id} is ${accesses.get(id)} times in access.log`);
    if (calls.get(id) !== 1) t.fail(`${id} is ${calls.get(id)} times in server.log`);
  }
  for (const name of ['server.log', 'access.log', 'envoy.log']) {
    for (const file of logsOf(t, name)) t.is(statSync(file).mode & 0o777, 0o600, file);
  }
});

test.serial('Rotation - keeps the newest files, as many as LOG_FILES', async (t) => {
  const launcher = launch(t, { LOG_MAX_BYTES: '2000', LOG_FILES: '3', LOG_LEVEL: 'debug' });
  const { url, key } = await launcher.opened();
  const rest = new RestClient(url, key);
  const oldest = () => logsOf(t, 'server.log').find((file) => file.endsWith('.2'));
  let last = '';
  const rotations = new Set<number>();
  await until(
    async () => {
      for (let i = 0; i < 20; i += 1) last = (await rest.get('/pets')).headers.get('x-request-id') ?? '';
      const file = oldest();
      if (file !== undefined) rotations.add(statSync(file).ino);
      return rotations.size > 2;
    },
    'two replacements of the oldest file',
    90_000,
  );
  t.true(logsOf(t, 'server.log').length <= 3);
  t.true(linesOf(t, 'server.log').some(({ requestId }) => requestId === last));
});

test('Rotation - goes on with the other logs when the size of one can not be read', async (t) => {
  const folder = t.context.settings.DATA_DIR ?? '';
  mkdirSync(folder);
  const [broken, good] = [join(folder, 'broken.log'), join(folder, 'good.log')];
  symlinkSync(broken, broken); // a loop
  writeFileSync(good, 'a line\n');
  const shutdown = new AbortController();
  const reopened = async () => shutdown.abort();
  const logs = [broken, good].map((file) => ({ files: [file], reopen: reopened }));
  const ended = rotateLogs(logs, { logMaxBytes: 1, logFiles: 2 }, shutdown.signal);
  await Promise.race([ended, delay(30_000).then(() => shutdown.abort())]);
  await t.notThrowsAsync(ended);
  t.is(readFileSync(`${good}.1`, 'utf8'), 'a line\n');
});
