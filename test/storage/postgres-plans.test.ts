import { MIGRATIONS } from '../../src/schema.ts';
import { openPostgres } from '../../src/storage/postgres.ts';
import { compile } from '../../src/storage/statement.ts';
import { connectPostgres, postgresMissing } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { runPlanSuite } from './suite/query-plans.ts';

/** Many rows: PostgreSQL scans a small table instead of using an index. */
const FILL = [
  "INSERT INTO categories (name) SELECT 'Kind ' || n FROM generate_series(1, 1000) AS n",
  `INSERT INTO pets (name, category_id, status)
   SELECT 'Pet ' || n, 1 + n % 1000, CASE n % 50 WHEN 0 THEN 'available' ELSE 'sold' END
    FROM generate_series(1, 50000) AS n`,
  'INSERT INTO orders (pet_id, quantity, complete) SELECT n % 5000, 1, n % 50 <> 0 FROM generate_series(1, 50000) AS n',
  "INSERT INTO accounts (name, plan, created_at_ms) SELECT 'Account', 'free', n FROM generate_series(1, 5000) AS n",
  `INSERT INTO api_keys (account_id, hash, prefix, created_at_ms)
   SELECT 1 + n % 100, decode(md5(n::text), 'hex'), 'pst_12345678', n FROM generate_series(1, 5000) AS n`,
  'INSERT INTO usage SELECT 1 + n % 500, n / 500, 1, 0 FROM generate_series(0, 49999) AS n',
  `INSERT INTO idempotency_records (id, request_digest, answer, created_at_ms)
   SELECT md5(n::text), '', '', n FROM generate_series(1, 5000) AS n`,
  'ANALYZE',
];

/** Disables sorts and bitmap scans: PostgreSQL prefers them for few rows, but not for many. */
const IN_ORDER = '?options=-c%20enable_sort%3Doff%20-c%20enable_bitmapscan%3Doff';

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

testUnless(postgresMissing);
if (postgresMissing === undefined) {
  runPlanSuite(async () => {
    const server = await connectPostgres();
    const url = await server.createDatabase();
    const engine = await openPostgres(`${url}${IN_ORDER}`, MIGRATIONS);
    for (const sql of FILL) await engine.write(compile(sql.slice(0, 60), engine.knex.raw(sql)), {});
    return {
      engine,
      async searched({ name, sql, bind }, values) {
        const explain = { name: `explain ${name}`, sql: `EXPLAIN (FORMAT JSON) ${sql}`, bind };
        const [row = {}] = await engine.reader.all(explain, values);
        const [{ Plan: plan }] = row['QUERY PLAN'] as [{ Plan: Plan }];
        return conditionOf(plan) ?? JSON.stringify(plan);
      },
      async close() {
        await engine.close();
        await server.dropDatabase(url);
        await server.stop();
      },
    };
  });
}

/** `((category_id = '1'::bigint) AND (id > '0'::bigint))` of the one index scan, as `category_id=? AND id>?`. */
function conditionOf(plan: Plan): string | undefined {
  if (plan.Plans?.length === 1 && plan.Plans[0] && /^(Limit|LockRows|Aggregate)$/.test(plan['Node Type']))
    return conditionOf(plan.Plans[0]);
  if (!/^Index (Only )?Scan$/.test(plan['Node Type'])) return undefined;
  return plan['Index Cond']
    ?.replaceAll(
      / = ANY \(.*?\)|( [<>=]+ )\(?'?[^ ]*?'?(::\w+)?(?=\))/g,
      (_, operator?: string) => `${operator?.trim() ?? '='}?`,
    )
    .replaceAll('>=', '>')
    .replaceAll(/[()]/g, '');
}
