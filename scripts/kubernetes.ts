/**
 * `npm run test:kubernetes`: the manifests on a real API server, with etcd, controllers and a scheduler. It builds them
 * from Go's modules at first, which takes 12 minutes of CPU time, and keeps them in the user's cache folder. It needs
 * Go and etcd (apt-get install etcd-server).
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { NAME } from '../src/identity.ts';
import { ROOT } from '../src/platform/launcher/paths.ts';
import { runAva } from './run-ava.ts';

/** Has the schemas of its kinds. */
const CERT_MANAGER = 'github.com/cert-manager/cert-manager@v1.18.2';
const SOURCE = join(ROOT, 'test/kubernetes/cluster');

const source = readdirSync(SOURCE).map((name) => readFileSync(join(SOURCE, name), 'utf8'));
const digest = createHash('sha256').update(source.join('')).digest('hex').slice(0, 16);
const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), `${NAME}-kubernetes`, digest);
const program = join(folder, 'kubernetes');
if (!existsSync(program)) build();
await runAva(['test/kubernetes/*.test.ts'], { KUBERNETES: folder });

function build(): void {
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(source.join(''))?.[1];
  process.stderr.write(`Building Kubernetes ${version} in ${folder}\n`);
  mkdirSync(folder, { recursive: true });
  cpSync(SOURCE, folder, { recursive: true });
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
  for (const words of [
    ['mod', 'tidy'],
    ['build', '-p', '1', '-mod=mod', '-ldflags', flags, '-o', 'kubernetes.part', '.'],
  ]) {
    const { status } = spawnSync('nice', ['-n', '19', 'go', ...words], { cwd: folder, stdio: 'inherit' });
    if (status !== 0) throw new Error(`go ${words[0]} failed`);
  }
  const { stdout } = spawnSync('go', ['mod', 'download', '-json', CERT_MANAGER], { encoding: 'utf8' });
  const kinds = ['certificates', 'issuers'].map((kind) => {
    const lines = readFileSync(join(JSON.parse(stdout).Dir, `deploy/crds/crd-${kind}.yaml`), 'utf8').split('\n');
    return lines.filter((line) => !line.includes('{{')).join('\n'); // of Helm
  });
  writeFileSync(join(folder, 'cert-manager.yaml'), kinds.join('\n---\n'));
  renameSync(join(folder, 'kubernetes.part'), program);
}
