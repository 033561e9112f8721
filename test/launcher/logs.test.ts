/** Logs, as real processes write them: their rotation at the maximum size, and what audit.log has of the operator. */
import { existsSync, globSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { AdminServiceService as Admin, Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { PetServiceService } from '../../gen/petstore/v1/pets.ts';
import { rotateLogs } from '../../src/platform/launcher/log-rotation.ts';
import { LogFile } from '../../src/platform/observe/logging/log-file.ts';
import { connectOperator } from '../support/calls/operator.ts';
import { sh } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/scope.ts';
import { type LogLine, startTestServer } from '../support/service/server.ts';
import { until } from '../support/until.ts';
import { launchForAll, test } from './launch.ts';

const shared = launchForAll(() => ({ LOG_MAX_BYTES: '20000', LOG_FILES: '1000', LOG_LEVEL: 'debug' }));

const filesOf = (name: string) => globSync(`${shared.folder}/logs/${name}*`);

function linesOf(name: string): LogLine[] {
  const text = filesOf(name).map((file) => readFileSync(file, 'utf8'));
  const lines = text.join('').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

test("Audit log - without a file its lines are in the server's log, at every LOG_LEVEL", async (t) => {
  const server = await startTestServer(t, { LOG_LEVEL: 'silent' });
  const { id: accountId } = await server.operator.account(Plan.PLAN_FREE);
  t.is((await server.grpc.failure(Admin.getAccount, { accountId })).reason, 'OPERATOR_KEY_INVALID');
  await server.close();
  const [made, refused] = server.logs.map(({ method, outcome }) => `${method} ${outcome}`);
  t.deepEqual([made, refused], ['CreateAccount OK', 'GetAccount OPERATOR_KEY_INVALID']);
});

test.serial('Rotation - under load loses no line of the server or of Envoy, and keeps the files private', async (t) => {
  const { launcher, folder, rest } = shared;
  const grpcAddress = `127.0.0.1:${launcher.settings.GRPC_PORT}`;
  const operator = await connectOperator(t, { grpcAddress, config: { dataDir: folder } });
  const ids: string[] = [];
  const accounts: string[] = [];
  const call = async () => {
    const responses = await Promise.all(Array.from({ length: 20 }, () => rest.get('/pets')));
    for (const { headers } of responses) ids.push(headers.get('x-request-id') ?? 'none');
    for (let i = 0; i < 10; i += 1) accounts.push(String((await operator.account(Plan.PLAN_FREE)).id));
    return ['server.log', 'access.log', 'audit.log'].every((name) => filesOf(name).length > 3);
  };
  await until(call, 'three rotations of each', 90_000);
  await launcher.end('SIGTERM'); // Envoy flushes its logs
  const accesses = Map.groupBy(linesOf('access.log'), (line) => line.request_id);
  // Envoy asks about a key that it does not know with the id of the caller's request.
  const lists = linesOf('server.log').filter(({ method }) => method === PetServiceService.listPets.path);
  const calls = Map.groupBy(lists, (line) => line.requestId);
  for (const lines of [accesses, calls]) {
    const others = ids.filter((id) => lines.get(id)?.length !== 1);
    t.deepEqual(others, []);
  }
  const logged = new Set(linesOf('audit.log').map((line) => line.made?.accountId));
  const missing = accounts.filter((id) => !logged.has(id));
  t.deepEqual(missing, []);
  for (const name of ['server.log', 'access.log', 'envoy.log', 'audit.log']) {
    for (const file of filesOf(name)) t.is(statSync(file).mode & 0o777, 0o600, file);
  }
});

test('Rotation - keeps the newest files, as many as LOG_FILES, also beside a log that can not be read', async (t) => {
  const folder = temporaryFolder(t);
  const [broken, good] = [`${folder}/broken.log`, `${folder}/good.log`];
  symlinkSync(broken, broken); // a loop
  writeFileSync(good, 'line 0');
  const shutdown = new AbortController();
  let rotations = 0;
  const reopen = async () => {
    rotations += 1;
    writeFileSync(good, `line ${rotations}`);
    if (rotations === 3) shutdown.abort();
  };
  await rotateLogs([broken, good], reopen, { logMaxBytes: 1, logFiles: 3 }, shutdown.signal);
  const found = globSync(`${good}*`).toSorted();
  const lines = found.map((file) => readFileSync(file, 'utf8'));
  t.deepEqual(lines, ['line 3', 'line 2', 'line 1']);
});

test('Rotation - comes again only when all writers of a log have reopened it', async (t) => {
  const file = `${temporaryFolder(t)}/server.log`;
  writeFileSync(file, 'a line');
  const shutdown = new AbortController();
  const rotated: boolean[] = [];
  const reopen = async () => {
    rotated.push(existsSync(`${file}.${rotated.length + 1}`));
    if (rotated.length === 3) shutdown.abort();
    writeFileSync(file, 'a line of the server that has reopened it');
    if (rotated.length === 1) throw new Error('another server did not answer');
  };
  await rotateLogs([file], reopen, { logMaxBytes: 1, logFiles: 9 }, shutdown.signal);
  t.deepEqual(rotated, [true, false, false]);
});

test('Rotation - a log that somebody has deleted is there again, with what is written from then on', async (t) => {
  const file = `${temporaryFolder(t)}/server.log`;
  const log = new LogFile(file);
  const shutdown = new AbortController();
  const running = rotateLogs([file], async () => log.reopen(), { logMaxBytes: 100, logFiles: 2 }, shutdown.signal);
  rmSync(file);
  await until(() => existsSync(file), 'the new file');
  log.write('a line\n');
  t.is(readFileSync(file, 'utf8'), 'a line\n');
  shutdown.abort();
  await running;
  const { stdout } = await sh('ls', ['-l', `/proc/${process.pid}/fd`]).catch(() => ({ stdout: '' })); // not on Linux
  t.false(stdout.includes(`${file} (deleted)`), 'its room is free');
});
