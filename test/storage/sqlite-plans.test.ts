import { createTestDatabase } from '../support/database.ts';
import { runPlanSuite } from './suite/query-plans.ts';

runPlanSuite(async () => {
  const database = await createTestDatabase();
  const engine = await database.open();
  return {
    engine,
    async searched({ name, sql, bind }, values) {
      const explain = { name: `explain ${name}`, sql: `EXPLAIN QUERY PLAN ${sql}`, bind };
      const lines = (await engine.reader.all(explain, values)).map(({ detail }) => String(detail));
      // Leaves out the lines about the list of ids.
      const plan = lines.filter((line) => !/json_each|LIST SUBQUERY|BLOOM/.test(line)).join('; ');
      const search = /^SEARCH \w+ USING (?:COVERING INDEX|INDEX|INTEGER PRIMARY KEY)[^;()]*\(([^()]*)\)$/.exec(plan);
      return search?.[1]?.replaceAll('rowid', 'id') ?? plan;
    },
    async close() {
      await engine.close();
      await database.remove();
    },
  };
});
