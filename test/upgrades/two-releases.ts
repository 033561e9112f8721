/**
 * A repository with two releases, `first` and `second`. The first is the last release, or before there is one this
 * tree. The second is this tree and what CONTRIBUTING.md says of a new field: pets have a `color`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { version } from '../../src/platform/config/constants.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { clone } from '../release/clone.ts';

const MIGRATION = '999-color';
const UP = `import type { Knex } from 'knex';
import { recordEvents } from '../../platform/events/migrations/event-triggers.ts';

export async function up(knex: Knex): Promise<void> {
  if (knex.client.config.client === 'pg') await knex.raw('SELECT pg_sleep(5)'); // the other servers go on meanwhile
  await knex.schema.alterTable('pets', (table) => {
    table.text('color');
  });
  await recordEvents(knex, { category: 'categories', pet: 'pets', order: 'orders' });
}
`;
const FIELD = '// Its color.\n  optional string color = 99 [(buf.validate.field).string.max_len = 20];\n';
/** What comes behind the first such text of a file. */
const ADDED: Readonly<Record<string, readonly (readonly [place: string, added: string])[]>> = {
  'proto/petstore/v1/pets.proto': ['NewPet', 'PetPatch', 'Pet'].map((name) => [`message ${name} {\n`, `  ${FIELD}`]),
  'src/shop/tables.ts': [
    ["migrations/001-catalogue.ts';\n", `import * as color from './migrations/${MIGRATION}.ts';\n`],
    ['up: catalogue.up, isAdditive: false }', `, { name: '${MIGRATION}', up: color.up, isAdditive: true }`],
  ],
  'src/shop/pets/table.ts': [
    ["name: text('name'),", "color: optional(text('color')),"],
    ['readonly name: string;', 'readonly color: string | undefined;'],
    ['oneOf, ', 'optional, '],
  ],
  'src/shop/pets/service.ts': [
    ["name: trimmed(pet?.name ?? ''),", 'color: pet?.color,'],
    ['...current,\n          ', 'color: pet?.color ?? current.color,'],
    ['petMessage({ id, ', 'color, '],
    ['return { id, ', 'color, '],
  ],
};

export function twoReleases(t: ExecutionContext) {
  const { folder, edit, git, commit, npm } = clone(t);
  commit();
  // Of a release its tag, on today's packages: git fetch --tags brings it.
  if (version() === '0.0.0') git('tag', 'first');
  else git('fetch', '--quiet', '--no-tags', ROOT, `refs/tags/v${version()}:refs/tags/first`);
  for (const [name, places] of Object.entries(ADDED))
    for (const [place, added] of places)
      edit(name, (text) => {
        t.true(text.includes(place), `${name}: ${place}`);
        return text.replace(place, `${place}${added}`);
      });
  writeFileSync(join(folder, `src/shop/migrations/${MIGRATION}.ts`), UP);
  const generated = npm('generate');
  t.is(generated.status, 0, generated.errors);
  commit();
  git('tag', 'second');
  t.is(git('tag'), 'first\nsecond');
  return { folder, checkOut: (tag: 'first' | 'second') => git('checkout', '--quiet', tag) };
}
