/** Starts the copy of the repository, without and with TLS, prints the addresses, and ends with its input. */
import { readFile } from 'node:fs/promises';
import { demoKeyFile } from '../../src/platform/access/keys/key-files.ts';
import { createService } from '../../src/service.ts';
import { type Scope, scoped } from '../support/scope.ts';
import { startTestStack } from '../support/service/stack.ts';

const NOWHERE = { write: () => undefined };

const start = (t: Scope, settings: Readonly<Record<string, string>>) =>
  startTestStack(t, settings, {
    async prepare(config) {
      await (await createService(config, { log: NOWHERE, auditLog: NOWHERE })).close();
      process.env.CONFORMANCE_KEY = (await readFile(demoKeyFile(config.dataDir), 'utf8')).trim();
    },
  });
await scoped(async (t) => {
  // One after the other, since each server has the key of its own data.
  const { publicAddress, grpcAddress } = await start(t, {});
  const secure = await start(t, JSON.parse(process.argv[2] ?? '{}'));
  process.stdout.write(`${JSON.stringify({ publicAddress, grpcAddress, secureAddress: secure.publicAddress })}\n`);
  for await (const _ of process.stdin);
});
