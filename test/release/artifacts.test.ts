/** What `npm run release:artifacts` makes, taken as its users take it: image, archive, client. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { parse } from 'yaml';
import { version } from '../../src/platform/config/constants.ts';
import { missing, sh } from '../support/machine/find-program.ts';
import { noNamespaces } from '../support/machine/namespaces.ts';
import { freePorts, temporaryFolder } from '../support/scope.ts';
import { childrenOf, Program } from '../support/service/process.ts';
import { testUnless } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { clone } from './clone.ts';

const REGISTRY = 'registry.internal:5000/shop';
const SECRET = 'the-secret-of-this-test';
/** Process 1 of a container: its files on a root that can only be read, no rights, nothing of this machine. */
const CONTAINER = `
  mount --make-rprivate / && mount --bind "$1" "$1" && cd "$1"
  mkdir -p dev proc && mount --rbind /dev dev && mount -t proc proc proc && mount --bind "$2" data
  mount -o remount,bind,ro "$1"
  shift 2
  exec unshare --root=. --wd=/opt/petstore --setgid=65532 --setuid=65532 "$@"`;

/** Unpacks an image as an engine does. Returns what starts it. */
function unpack(t: ExecutionContext, archive: string) {
  const [layout, root, data] = [temporaryFolder(t), temporaryFolder(t), temporaryFolder(t)];
  execFileSync('tar', ['-xf', archive, '-C', layout]);
  const blob = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'));
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
  const [image] = read(join(layout, 'index.json')).manifests;
  const manifest = read(blob(image.digest));
  for (const { digest } of manifest.layers) execFileSync('tar', ['-xzf', blob(digest), '-C', root]);
  execFileSync('chmod', [(statSync(join(root, 'data')).mode & 0o7777).toString(8), data]);
  const { config } = read(blob(manifest.config.digest));
  const start = (settings: object, command: readonly string[] = config.Cmd) => {
    const env = { ...Object.fromEntries(config.Env.map((pair: string) => pair.split('='))), ...settings };
    const namespace = ['--mount', '--pid', '--fork', '--kill-child', '/bin/sh', '-euc', CONTAINER, 'sh', root, data];
    const program = new Program('/usr/bin/unshare', [...namespace, ...config.Entrypoint, ...command], { env });
    const end = async () => {
      for (const { pid } of await childrenOf(program.pid)) process.kill(pid, 'SIGTERM');
      return program.ended;
    };
    t.teardown(end);
    return { program, end };
  };
  return { config, root, data, start };
}

testUnless(noNamespaces ?? missing('dpkg-deb', 'dpkg') ?? missing('apt-get', 'apt'))(
  'Artifacts - images and archive start and serve, the client calls them, and the lists name all that is there',
  async (t) => {
    t.timeout(900_000);
    const { folder, commit } = clone(t);
    commit();
    const out = join(folder, 'build/out');
    const words = ['release:artifacts', '--', '--to', out, '--registry', REGISTRY];
    // The users of the images read the files of root, whatever the umask was.
    await sh('sh', ['-c', 'umask 077 && exec npm run --silent "$@"', 'sh', ...words], { cwd: folder });
    const cwd = temporaryFolder(t);
    await sh('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out });
    const files = globSync('*', { cwd: out });
    t.false(readFileSync(join(out, 'README.md'), 'utf8').includes('X.Y.Z'));
    const file = (pattern: RegExp) => join(out, files.find((name) => pattern.test(name)) ?? `${pattern}`);
    t.is(readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n').length, files.length - 1);

    // Compose and Kubernetes name the images of this release.
    await sh('tar', ['-xzf', file(/-deploy\.tar\.gz$/), '-C', cwd]);
    const { stdout: links } = await sh('find', [cwd, '-type', 'l', '-lname', '/*'], { cwd });
    t.is(links, '', 'links into a folder of the build');
    const kit = join(cwd, `petstore-${version()}-deploy/deploy`);
    const { services } = parse(readFileSync(join(kit, 'compose/compose.yaml'), 'utf8'), { merge: true });
    t.like(services.edge, { image: `${REGISTRY}/petstore-edge:${version()}`, build: undefined });
    const { images } = parse(readFileSync(join(kit, 'kubernetes/base/kustomization.yaml'), 'utf8'));
    t.like(images[0], { newName: `${REGISTRY}/petstore-server`, newTag: version() });

    // The bill has what is in the image, each with a license.
    const [server, edge] = [unpack(t, file(/-server-.*\.oci\.tar$/)), unpack(t, file(/-edge-.*\.oci\.tar$/))];
    const { components } = JSON.parse(readFileSync(file(/\.cdx\.json$/), 'utf8'));
    for (const { name, licenses } of components) t.true(licenses.length > 0, name);
    const named = new Set(components.map(({ name }: { name: string }) => name));
    const packages = globSync(['*/package.json', '@*/*/package.json'], {
      cwd: join(server.root, 'opt/petstore/node_modules'),
    });
    t.true(packages.length > 50);
    for (const its of packages) t.true(named.has(its.replace(/\/package\.json$/, '')), its);
    for (const its of ['dash', 'envoy', 'libatomic1', 'libc6', 'node', 'SQLite']) t.true(named.has(its), its);
    for (const { licenses, purl } of components) {
      const [, its] = /^see \/(\S+) in the image/.exec(licenses[0].license?.name ?? '') ?? [];
      if (its !== undefined) t.true(existsSync(join(edge.root, its)), purl);
    }
    t.is(server.config.Labels['org.opencontainers.image.version'], version());

    // The images.
    const [grpc = 0, port = 0, admin = 0, ...ports] = await freePorts(6);
    const here = { GRPC_HOST: '127.0.0.1', GRPC_PORT: `${grpc}`, EDGE_SECRET: SECRET, DEMO_ACCOUNT: 'yes' };
    const running = server.start(here);
    await running.program.says(new RegExp(`"version":"${version()}".*"serving"`));
    const SERVERS = `127.0.0.1:${grpc}`;
    const there = { HOST: '127.0.0.1', PORT: `${port}`, ENVOY_ADMIN_PORT: `${admin}` };
    const front = edge.start({ ...there, SERVERS, EDGE_SECRET: SECRET });
    await front.program.says(/edge is open/);
    await serves(t, `127.0.0.1:${port}`, join(server.data, 'server/demo.key'), file(/-client-.*\.tgz$/));
    for (const { end } of [front, running]) t.like(await end(), { code: 0 });

    // The archive, with the packages and the Envoy of the images in place of another installation.
    await sh('tar', ['-xzf', file(/petstore-[\d.]+\.tar\.gz$/), '-C', cwd]);
    const source = join(cwd, `petstore-${version()}`);
    await sh('cp', ['-r', join(server.root, 'opt/petstore/node_modules'), source]);
    const ENVOY = join(edge.root, 'opt/petstore/.envoy/envoy/_bin/envoy');
    const [other, private2, admin2] = ports;
    const theirs = { PORT: `${other}`, GRPC_PORT: `${private2}`, ENVOY_ADMIN_PORT: `${admin2}` };
    const env = { PATH: process.env.PATH, ENVOY, ...theirs };
    const archive = new Program('npm', ['start'], { cwd: source, env });
    t.teardown(() => archive.end('SIGTERM'));
    await archive.says(/is open/);
    t.notRegex(archive.errors, /Installing/);
    await serves(t, `127.0.0.1:${other}`, join(source, 'data/demo.key'), file(/-client-.*\.tgz$/));
  },
);

/** The example of docs/clients.md, with the client of the package, against a service with an empty store. */
async function serves(t: ExecutionContext, address: string, keyFile: string, client: string): Promise<void> {
  const healthy = () =>
    fetch(`http://${address}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(healthy, 'the edge has a server');
  const project = temporaryFolder(t);
  writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}');
  await sh('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', client], { cwd: project });
  mkdirSync(join(project, 'src'));
  const sample = readFileSync('examples/typescript/main.mts', 'utf8');
  writeFileSync(join(project, 'src/main.ts'), sample);
  const env = { PATH: process.env.PATH, API: address, API_KEY: readFileSync(keyFile, 'utf8').trim() };
  const { stdout } = await sh(process.execPath, ['src/main.ts'], { cwd: project, env });
  t.regex(stdout, /^1n Cats\nINVALID_ARGUMENT\ncategory\.name /);
}
