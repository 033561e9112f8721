import type { Row } from '../../src/platform/storage/fields.ts';
import { createTestDatabase } from '../support/machine/database.ts';
import { runPlanSuite } from './suite/query-plans.ts';

runPlanSuite(undefined, async (t) => {
  const database = createTestDatabase(t);
  const engine = await database.open();
  t.teardown(() => engine.close());
  return {
    engine,
    async searched({ name, sql, bind }, values) {
      const explain = { name: `explain ${name}`, sql: `EXPLAIN QUERY PLAN ${sql}`, bind };
      const all = await engine.reader.all(explain, values);
      // Of pages that share a statement the plan of one is looked at, and lines about a list of ids are left out. No
      // statement may sort: SQLite writes what it sorts to a temporary file when it is large, such as several pages.
      const page = all.find(({ detail }) => detail === 'CO-ROUTINE page');
      const isRead = ({ parent, detail }: Row) => page?.id === parent || /TEMP B-TREE/.test(String(detail));
      const details = (page === undefined ? all : all.filter(isRead)).map(({ detail }) => String(detail));
      const plan = details.filter((line) => !/json_each|LIST SUBQUERY|BLOOM/.test(line)).join('; ');
      const search = /^SEARCH \w+ USING (?:COVERING INDEX|INDEX|INTEGER PRIMARY KEY)[^;()]*\(([^()]*)\)$/.exec(plan);
      return search?.[1]?.replaceAll('rowid', 'id') ?? plan;
    },
  };
});
