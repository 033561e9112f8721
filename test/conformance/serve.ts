/** Starts the copy of the repository with the service of the suite, prints its addresses, and ends with its input. */
import { readFile } from 'node:fs/promises';
import { demoKeyFile } from '../../src/access/keys/key-files.ts';
import { createService } from '../../src/service.ts';
import { startTestStack } from '../support/stack.ts';

const NOWHERE = { write: () => undefined };

const { publicAddress, grpcAddress, close } = await startTestStack(JSON.parse(process.argv[2] ?? '{}'), {
  async prepare(config) {
    await (await createService(config, { log: NOWHERE, auditLog: NOWHERE })).close();
    process.env.CONFORMANCE_KEY = (await readFile(demoKeyFile(config.dataDir), 'utf8')).trim();
  },
});
process.stdout.write(`${JSON.stringify({ publicAddress, grpcAddress })}\n`);
for await (const _ of process.stdin);
await close();
