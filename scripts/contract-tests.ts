/**
 * Tests the running service against its OpenAPI description: starts it with its own database and runs schemathesis with
 * the settings in test/contract/schemathesis.toml. Arguments go to schemathesis: `npm run test:contract -- --seed 7`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { scoped, temporaryFolder } from '../test/support/scope.ts';
import { startTestStack } from '../test/support/service/stack.ts';

const CONFIG_DIR = resolve('test/contract');
const SCHEMATHESIS = resolve('.schemathesis/bin/schemathesis');

const say = (text: string) => process.stderr.write(`${text}\n`);

say('Starting the service …');
await scoped(async (t) => {
  // A stream of events that schemathesis opens ends after a second.
  const service = await startTestStack(t, { EVENT_STREAM_SECONDS: '1' });
  say('Testing it against its description, under a minute …');
  const url = `http://${service.publicAddress}/openapi.json`;
  const config = ['--config-file', join(CONFIG_DIR, 'schemathesis.toml')];
  const child = spawn(SCHEMATHESIS, [...config, 'run', url, ...process.argv.slice(2)], {
    cwd: temporaryFolder(t), // schemathesis and Hypothesis create folders there
    env: { ...process.env, API_KEY: service.key, PYTHONPATH: CONFIG_DIR, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: 'inherit',
  });
  const [exitCode] = await once(child, 'exit');
  process.exitCode = exitCode ?? 1;
});
