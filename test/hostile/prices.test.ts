/** The price list (bench/) has all that can be asked. What it measures is no test: a row that is missing is. */
import test from 'ava';
import { KEYLESS_FORMS } from '../../bench/forms.ts';
import { KEYED_FORMS } from '../../bench/operation-forms.ts';
import { KINDS } from '../../envoy/config/kinds.ts';
import { FILE_PATHS, PROBE_PATHS } from '../../envoy/config/operations.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';

const ALL = [...KEYLESS_FORMS, ...KEYED_FORMS].map(({ row, how }) => `${row} ${how}`);

test('Prices - the list has each kind of request, file and operation, and each filter and list of one', (t) => {
  const needed = [
    ...KINDS.map(({ name }) => `${name} `),
    ...[...FILE_PATHS, ...PROBE_PATHS].map((path) => `GET ${path}`),
    ...[...loadOperations().byPath.values()].flatMap(({ path, isPublic, isStream, routes, queryParameters, input }) => {
      if (!isPublic) return path.startsWith('/apiplatform.') ? [] : [`POST ${path}`];
      const [{ method, template } = { method: 'POST', template: path }] = routes;
      const row = `${method} ${template.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())} `;
      const lists = input.fields.filter(({ fieldKind }) => fieldKind === 'list').map(({ name }) => name);
      if (isStream) return [row]; // its rows name no parameters
      return [
        row,
        ...[...queryParameters.keys()].map((name) => `${name}=`),
        ...lists.map((name) => `64 KB of ${name}`),
      ];
    }),
  ];
  const absent = needed.filter((one) => !ALL.some((form) => form.includes(one)));
  t.deepEqual(absent, []);
});
