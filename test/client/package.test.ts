/** The client as users get it: packed, installed into an empty project, compiled against and run. */
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { findOldestNode, missingNode, OLDEST_NODE, sh } from '../support/machine/find-program.ts';
import { makeCertificates, noOpenssl, startTlsFront } from '../support/machine/tls.ts';
import { temporaryFolder } from '../support/scope.ts';
import { missesNothing } from '../support/service/example-programs.ts';
import { type SharedBy, sharing, testUnless } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

const UPGRADES = `${ROOT}/test/upgrades/`;
const oldest = findOldestNode();

const test = sharing(noOpenssl, async (t) => {
  t.timeout(300_000, 'npm fetches the dependencies');
  /** An empty project in which the package is installed, with a file for each sample of the docs. */
  const project = temporaryFolder(t);
  const [stack, certificates] = await Promise.all([startTestStack(t), makeCertificates(t)]);
  const front = await startTlsFront(t, stack.config.port, certificates);
  const texts = await readSamples(stack.publicAddress, front);
  const samples = texts.map((_, i) => `sample-${i + 1}`);
  /** The sample that follows events, without end. */
  const follower = samples[texts.findIndex((text) => text.includes('client.events('))];
  for (const file of ['ca.pem', 'client.pem', 'client-key.pem']) {
    await copyFile(join(certificates.folder, file), join(project, file));
  }
  await sh(process.execPath, ['scripts/build-client.ts', join(project, 'packed')], { cwd: ROOT });
  await writeFile(join(project, 'package.json'), '{"private":true,"type":"module"}');
  const [tarball = ''] = await readdir(join(project, 'packed'));
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund'];
  await sh('npm', ['install', ...quiet, join(project, 'packed', tarball)], { cwd: project });
  await mkdir(join(project, 'src'));
  for (const [i, text] of texts.entries()) await writeFile(join(project, `src/${samples[i]}.ts`), text);
  return { ...stack, project, samples, follower };
});
const testOnOldest = testUnless<SharedBy<typeof test>>(noOpenssl ?? missingNode(oldest));

/** What the page says once, for all samples. */
const OPEN = `import { createClient } from 'petstore-client';
const client = createClient({ address: '127.0.0.1:8080', apiKey: process.env.API_KEY ?? '' });
`;
const CLOSE = 'await client.close();\n';

/**
 * The TypeScript of docs/client.md, the package's README, of examples/, and the programs for older releases, to be run
 * against the service of this file.
 */
async function readSamples(address: string, secureAddress: string): Promise<string[]> {
  const page = await readFile(`${ROOT}/docs/client.md`, 'utf8');
  const ofPage = [...page.matchAll(/^```ts\n(.+?)^```$/gms)].map(([, code = '']) =>
    code.includes('createClient') ? code : `${OPEN}${code}${CLOSE}`,
  );
  const older = (await readdir(UPGRADES)).filter((file) => file.endsWith('.client.ts'));
  const ofReleases = await Promise.all(older.map((file) => readFile(UPGRADES + file, 'utf8')));
  const example = await readFile(`${ROOT}/examples/typescript/main.mts`, 'utf8');
  return [...ofPage, example, ...ofReleases].map((code) =>
    code.replaceAll('127.0.0.1:8080', address).replaceAll('petstore.internal:8443', secureAddress),
  );
}

test.serial('client package - its types compile under strict for ES2022, with libraries checked', async (t) => {
  const { project } = t.context;
  const checks = { strict: true, skipLibCheck: false, target: 'es2022', module: 'nodenext' };
  const compilerOptions = { ...checks, rootDir: 'src', outDir: 'compiled' };
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
  const { stdout } = await sh(join(ROOT, 'node_modules/.bin/tsc'), [], { cwd: project }).catch((error) => error);
  t.is(stdout, '');
});

test.serial('client package - its sample gets each event once, through the ends of servers and Envoy', async (t) => {
  const { project, follower, key } = t.context;
  const cwd = join(project, 'follower');
  await mkdir(cwd);
  const env = { ...process.env, API_KEY: key };
  const node = oldest ?? process.execPath;
  await missesNothing(t, t.context, { commands: `${node} ../compiled/${follower}.js`, cwd, env });
});

testOnOldest.serial(`client package - each sample and each older program runs on Node ${OLDEST_NODE}`, async (t) => {
  const { project, samples, follower, key, rest } = t.context;
  t.is(samples.length, 8);
  for (const sample of samples.filter((one) => one !== follower)) {
    const options = { cwd: project, env: { API: rest.url, API_KEY: key } };
    t.is((await sh(oldest ?? '', [`compiled/${sample}.js`], options)).stderr, '', sample);
  }
});
