/**
 * `npm run release:artifacts` makes what a release's users take, of the commit that is checked out: sources, images,
 * client, descriptions, the kit, a bill of materials and checksums. Times are the commit's. The network is that of
 * npm, pip and apt. deploy/README.md says what may differ between two builds.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { NAME } from '../../src/identity.ts';
import { version } from '../../src/platform/config/constants.ts';
import { CommandFailed, createCommand, run } from '../command-line.ts';
import { type ImageConfig, readStages, type Stage } from './containerfile.ts';
import { architecture, type Layer, sha256, tarOf, toLayer, writeImage } from './oci.ts';
import { billOfMaterials } from './sbom.ts';

/** What the default base image of the Containerfile has, from Debian itself. */
const BASE_PACKAGES = ['base-files', 'gcc-12-base', 'libc6', 'libgcc-s1', 'libstdc++6', 'netbase', 'tzdata'];
/** What the Containerfile copies from the system of the build. */
const BUILD_PACKAGES = ['dash', 'libatomic1'];
const USERS = 'root:x:0:0::/:/sbin/nologin\nnonroot:x:65532:65532::/:/sbin/nologin\n';
const PATH_OF_BASE = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const REGISTRY = 'registry.example';

const command = createCommand('release:artifacts', 'Makes the files of a release, with their checksums.')
  .option('--to <folder>', 'where they are put', `build/${NAME}-${version()}`)
  .option('--registry <name>', 'where the images will be, as the files for Compose and Kubernetes say', REGISTRY);

await run(command, async ({ to, registry }: { readonly to: string; readonly registry: string }) => {
  if (git('status', '--porcelain') !== '') throw new CommandFailed('there are changes that are not committed');
  const epochS = Number(git('log', '-1', '--format=%ct'));
  // Modes are a part of layers and packages, and the images' user reads what belongs to root.
  process.umask(0o022);
  const out = resolve(to);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    make(out, work, registry, epochS);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const sums = readdirSync(out).map((name) => `${sha256(readFileSync(join(out, name)))}  ${name}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
  process.stdout.write(sums.join(''));
});

function make(out: string, work: string, registry: string, epochS: number): void {
  const full = `${NAME}-${version()}`;
  const tar = ['-c', 'tar.umask=0002', 'archive', '--format=tar'];
  const archive = git(...tar, `--prefix=${full}/`, '-o', join(work, 'source.tar'), 'HEAD');
  if (archive !== '') throw new CommandFailed(archive);
  writeFileSync(join(out, `${full}.tar.gz`), gzipSync(readFileSync(join(work, 'source.tar'))));
  const source = join(work, full);
  execFileSync('tar', ['-C', work, '-xpf', join(work, 'source.tar')]);

  const kit = join(work, `${full}-deploy`);
  cpSync(join(source, 'deploy'), join(kit, 'deploy'), { recursive: true, verbatimSymlinks: true });
  for (const its of ['LICENSE', 'docs']) cpSync(join(source, its), join(kit, its), { recursive: true });
  cpSync(join(source, 'gen/dashboard.json'), join(kit, 'dashboard.json'));
  for (const file of globSync('deploy/{compose,kubernetes}/**/*.yaml', { cwd: kit })) {
    const text = readFileSync(join(kit, file), 'utf8');
    // The images are there: nothing is built.
    writeFileSync(join(kit, file), text.replaceAll(REGISTRY, registry).replaceAll(/^ +build: .*\n/gm, ''));
  }
  writeFileSync(join(out, `${full}-deploy.tar.gz`), gzipSync(tarOf(work, epochS, [basename(kit)])));

  execFileSync(process.execPath, ['scripts/build-client.ts', out], { stdio: ['ignore', 'ignore', 'inherit'] });
  for (const [from, its] of Object.entries({ 'public.binpb': `${NAME}.binpb`, 'public.proto': `${NAME}.proto` }))
    cpSync(join(source, 'gen', from), join(out, its));
  for (const its of ['openapi.json', 'openapi.yaml']) cpSync(join(source, 'gen/openapi', its), join(out, its));
  const readme = readFileSync(join(source, 'deploy/release.md'), 'utf8');
  const filled = readme.replaceAll('X.Y.Z', version()).replaceAll('amd64', architecture());
  writeFileSync(join(out, 'README.md'), filled);

  const debian = makeImages(out, work, source, registry, epochS);
  writeFileSync(
    join(out, `${full}.cdx.json`),
    billOfMaterials(source, { name: NAME, version: version(), epochS, debian }),
  );
}

/** Returns the packages of the base, with their versions. */
function makeImages(out: string, work: string, source: string, registry: string, epochS: number) {
  const stages = readStages(readFileSync('deploy/container/Containerfile', 'utf8'));
  const stage = (name: string): Stage => stages.get(name) ?? fail(`the Containerfile has no stage ${name}`);
  const made = join(work, 'out');
  // The same paths in what the compiler writes, and no binary from elsewhere.
  const flags = `-ffile-prefix-map=${source}=/opt/${NAME}`;
  const env = { ...process.env, CFLAGS: flags, CXXFLAGS: flags, npm_config_build_from_source: 'true' };
  for (const text of stage('build').runs.filter((one) => !one.includes('apt-get')))
    execFileSync('sh', ['-euc', text.replaceAll('/out', made)], { cwd: source, env, stdio: ['ignore', 2, 2] });

  const base = join(work, 'base');
  const packages = join(work, 'packages');
  mkdirSync(packages);
  execFileSync('apt-get', ['download', ...BASE_PACKAGES], { cwd: packages, stdio: ['ignore', 'ignore', 2] });
  const debian = readdirSync(packages).map((file) => {
    execFileSync('dpkg-deb', ['-x', join(packages, file), base]);
    const fields = execFileSync('dpkg-deb', ['-f', join(packages, file), 'Package', 'Version'], { encoding: 'utf8' });
    const [, its = '', is = ''] = /^Package: (.+)\nVersion: (.+)/.exec(fields) ?? [];
    return [its, is] as const;
  });
  for (const its of BUILD_PACKAGES) {
    const status = execFileSync('dpkg-query', ['--status', its], { encoding: 'utf8' });
    debian.push([its, /^Version: (.+)/m.exec(status)?.[1] ?? '']);
  }
  writeFileSync(join(base, 'etc/passwd'), USERS);
  rmSync(join(base, 'usr/share/man'), { recursive: true, force: true });

  const layerOf = ({ name, copies }: Stage): Layer => {
    const root = join(work, `layer-${name}`);
    for (const { stage: from, mode, from: path, to } of copies) {
      const inBuild = path.startsWith('/out') ? `${made}${path.slice(4)}` : path.replace(`/opt/${NAME}`, source);
      const target = join(root, to.startsWith('/') ? to : join(`/opt/${NAME}`, to));
      mkdirSync(to.endsWith('/') ? target : join(target, '..'), { recursive: true });
      const its = from === undefined ? join(source, path) : inBuild;
      // As the engines do: the content of a folder, or a file below a path that ends in "/".
      const at = to.endsWith('/') && path !== '/out' ? join(target, basename(path)) : target;
      execFileSync('cp', ['-rT', '--preserve=mode', its, at]);
      if (mode !== undefined) execFileSync('chmod', ['--recursive', mode, at]);
    }
    return toLayer(root, epochS, `${name} of deploy/container/Containerfile`);
  };
  const node = stage('node');
  const shared = [toLayer(base, epochS, `Debian: ${BASE_PACKAGES.join(' ')}`), layerOf(node)];
  for (const name of ['server', 'edge']) {
    const its = stage(name);
    const config: ImageConfig = {
      ...{ ...node.config, ...its.config },
      Env: [PATH_OF_BASE, ...(its.config.Env ?? [])],
      Labels: {
        ...node.config.Labels,
        ...its.config.Labels,
        'org.opencontainers.image.revision': git('rev-parse', 'HEAD'),
      },
    };
    const file = join(out, `${NAME}-${name}-${version()}-${architecture()}.oci.tar`);
    writeImage(file, {
      name: `${registry}/${NAME}-${name}:${version()}`,
      config,
      layers: [...shared, layerOf(its)],
      epochS,
    });
  }
  return debian;
}

function fail(message: string): never {
  throw new CommandFailed(message);
}

function git(...words: string[]): string {
  return execFileSync('git', words, { encoding: 'utf8' }).trim();
}
