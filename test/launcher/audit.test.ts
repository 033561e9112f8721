/** `audit.log`: the operator's calls, as real processes log them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AdminServiceService as Admin, Plan } from '../../gen/petstore/admin/v1/admin.ts';
import { operatorKeyFile } from '../../src/access/keys/key-files.ts';
import { GrpcCaller } from '../support/grpc-caller.ts';
import { connectOperator, type Operator } from '../support/operator.ts';
import { type ServerProcess, startServerProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { launch, type Test, test } from './launch.ts';

interface Line {
  readonly method: string;
  readonly outcome: string;
  readonly arguments?: { readonly accountId?: string };
  readonly made?: { readonly accountId?: string; readonly keyId?: string };
  readonly address: string;
  readonly time: string;
}

function filesOf(t: Test): string[] {
  const folder = join(t.context.settings.DATA_DIR ?? '', 'logs');
  return readdirSync(folder)
    .filter((name) => name.startsWith('audit.log'))
    .map((name) => join(folder, name));
}

function parse(text: string): Line[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

const linesOf = (t: Test) => filesOf(t).flatMap((file) => parse(readFileSync(file, 'utf8')));

function operatorOf(t: Test): Promise<Operator> {
  const { DATA_DIR: dataDir = '', GRPC_PORT: port } = t.context.settings;
  return connectOperator({ grpcAddress: `127.0.0.1:${port}`, config: { dataDir } });
}

test.serial('Audit log - has successful and refused operator calls, has no key, and is private', async (t) => {
  await launch(t, { LOG_LEVEL: 'silent' }).opened();
  const operator = await operatorOf(t);
  const { id } = await operator.account(Plan.PLAN_FREE);
  const made = await operator.key(id);
  operator.close();
  const customer = new GrpcCaller(`127.0.0.1:${t.context.settings.GRPC_PORT}`, made.key);
  t.is((await customer.failure(Admin.getAccount, { accountId: id })).reason, 'OPERATOR_KEY_INVALID');
  customer.close();

  const lines = linesOf(t);
  t.deepEqual(
    lines.map(({ method, outcome }) => [method, outcome]),
    [
      ['CreateAccount', 'OK'],
      ['CreateKey', 'OK'],
      ['GetAccount', 'OPERATOR_KEY_INVALID'],
    ],
  );
  t.is(lines[0]?.made?.accountId, String(id));
  t.deepEqual([lines[1]?.arguments?.accountId, lines[1]?.made?.keyId], [String(id), String(made.id)]);
  for (const { address, time } of lines) t.deepEqual([address, new Date(time).toJSON()], ['127.0.0.1', time]);
  const text = filesOf(t)
    .map((file) => readFileSync(file, 'utf8'))
    .join('');
  const operatorKey = readFileSync(operatorKeyFile(t.context.settings.DATA_DIR ?? ''), 'utf8').trim();
  for (const key of [made.key, operatorKey]) t.false(text.includes(key.slice(4)));
  for (const file of filesOf(t)) t.is(statSync(file).mode & 0o777, 0o600);
});

test.serial('Audit log - is rotated like the other logs, and loses no line', async (t) => {
  await launch(t, { LOG_MAX_BYTES: '2000', LOG_FILES: '1000' }).opened();
  const operator = await operatorOf(t);
  const made: string[] = [];
  await until(
    async () => {
      for (let i = 0; i < 10; i += 1) made.push(String((await operator.account(Plan.PLAN_FREE)).id));
      return filesOf(t).length > 3;
    },
    'three rotations',
    60_000,
  );
  operator.close();
  const logged = linesOf(t).flatMap((line) => line.made?.accountId ?? []);
  t.deepEqual(logged.toSorted(byNumber), made);
  for (const file of filesOf(t)) t.is(statSync(file).mode & 0o777, 0o600);
});

test.serial('Audit log - several servers append whole lines to one file', async (t) => {
  const folder = t.context.settings.DATA_DIR ?? '';
  const file = `${folder}-audit.log`;
  const servers: ServerProcess[] = [];
  for (const name of ['a', 'b']) servers.push(await startServerProcess(`${folder}-${name}`, { AUDIT_FILE: file }));
  const CALLS = 200;
  await Promise.all(
    servers.map(async ({ address, dataDir }) => {
      const operator = await connectOperator({ grpcAddress: address, config: { dataDir } });
      await Promise.all(Array.from({ length: CALLS }, () => operator.call(Admin.getAccount, { accountId: 1n })));
      operator.close();
    }),
  );
  for (const server of servers) {
    server.grpc.close();
    await server.end('SIGTERM');
  }
  t.is(parse(readFileSync(file, 'utf8')).filter(({ outcome }) => outcome === 'OK').length, 2 * CALLS);
});

test.serial("Audit log - without a file its lines are in the server's log", async (t) => {
  const server = await startServerProcess(t.context.settings.DATA_DIR ?? '', { LOG_LEVEL: 'info' });
  const operator = await connectOperator({ grpcAddress: server.address, config: { dataDir: server.dataDir } });
  await operator.account(Plan.PLAN_FREE);
  operator.close();
  const line = await until(() => parse(server.output).find(({ method }) => method === 'CreateAccount'), 'the line');
  t.is(line.outcome, 'OK');
  server.grpc.close();
  await server.end('SIGTERM');
});

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b);
}
