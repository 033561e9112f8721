/** A new operator key, as docs/operations.md changes it. */
import { readFile, rm } from 'node:fs/promises';
import { AdminServiceService as Admin } from '../../gen/petstore/admin/v1/admin.ts';
import { operatorKeyFile } from '../../src/access/keys/key-files.ts';
import { start, test } from './server-processes.ts';

test("The operator's key - is a new one after its file was removed, and the old one is refused", async (t) => {
  const file = operatorKeyFile(t.context.dataDir);
  const list = async (key: string) => {
    const server = await start(t);
    const operator = server.grpc.withKey(key || (await readFile(file, 'utf8')).trim());
    const reason = await operator.call(Admin.listAccounts, { pageToken: '' }).then(
      () => 'accepted',
      () => 'refused',
    );
    operator.close();
    server.grpc.close();
    await server.end('SIGTERM');
    return reason;
  };
  t.is(await list(''), 'accepted');
  const old = (await readFile(file, 'utf8')).trim();
  t.is(await list(old), 'accepted');
  await rm(file);
  t.is(await list(old), 'refused');
  t.is(await list(''), 'accepted');
});
