/**
 * The alert rules and the dashboard: the tests of the rules pass, and a real Prometheus that scrapes the running
 * service has every series that they query.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { parse, stringify } from 'yaml';
import { isErrorCode } from '../../../src/error-table.ts';
import { ROOT } from '../../../src/launcher/paths.ts';
import { backup } from '../../deploy/backups.ts';
import { scrape, typesOf } from '../../support/exposition.ts';
import { freePortRange } from '../../support/ports.ts';
import { connectPostgres, postgresMissing, type TestPostgres } from '../../support/postgres.ts';
import { testUnless } from '../../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../../support/redis.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';
import { prometheusMissing, promtool, TestPrometheus } from './test-prometheus.ts';

const RULES = join(ROOT, 'deploy/prometheus');
const DASHBOARD = join(ROOT, 'deploy/grafana/petstore.json');
const INSTANCES = 2;
/** Only a server with mutual TLS has it, which test/hosts/certificates.test.ts scrapes. */
const STANDALONE_ONLY = 'petstore_certificate_days_left';
/** Matches the metrics of the service, of Envoy and of Node, with their label matchers. */
const SELECTOR = /\b((?:petstore|envoy|nodejs|process)_\w+|up\b)(?:\{([^}]*)\})?/g;

interface Context {
  readonly stack: TestStack;
  readonly metricsPort: number;
  readonly prometheus: TestPrometheus;
  readonly postgres: TestPostgres;
  readonly redis: RedisProcess;
  readonly url: string;
}
type Test = ExecutionContext<Context>;
const test = testUnless<Context>(prometheusMissing ?? postgresMissing ?? MISSING_REDIS_SERVER);

test.before(async (t) => {
  const [postgres, redis] = await Promise.all([connectPostgres(), RedisProcess.start()]);
  const url = await postgres.createDatabase();
  const metricsPort = await freePortRange(INSTANCES);
  const stack = await startTestStack({
    INSTANCES: String(INSTANCES),
    DATABASE_URL: url,
    DEMO_ACCOUNT: 'yes',
    REDIS_URL: redis.config.urls[0],
    METRICS_PORT: String(metricsPort),
  });
  const { dataDir } = stack.config;
  await backup(join(dataDir, 'backups'), { DATA_DIR: dataDir, DATABASE_URL: url });
  const prometheus = await TestPrometheus.start(await scrapeConfig(stack, metricsPort), {
    'alerts.yml': join(RULES, 'alerts.yml'),
  });
  t.context = { stack, metricsPort, prometheus, postgres, redis, url };
  await use(stack);
  await until(() => hasScraped(prometheus), 'two scrapes of all targets after the calls');
});
test.after.always(async ({ context: { stack, prometheus, postgres, redis, url } }) => {
  await prometheus?.stop();
  await stack?.close();
  await postgres?.dropDatabase(url);
  await Promise.all([postgres?.stop(), redis?.stop()]);
});

/** Returns the project's configuration with the ports of this test and a short interval. */
async function scrapeConfig(stack: TestStack, metricsPort: number): Promise<string> {
  const config = parse(await readFile(join(RULES, 'prometheus.yml'), 'utf8'));
  const [servers, envoy] = config.scrape_configs;
  const targets = (...ports: number[]) => [{ targets: ports.map((port) => `127.0.0.1:${port}`) }];
  servers.static_configs = targets(metricsPort, metricsPort + 1);
  envoy.static_configs = targets(stack.config.envoyAdminPort);
  return stringify({ ...config, global: { scrape_interval: '1s', evaluation_interval: '1s' } });
}

/** Makes calls that succeed and calls that fail, so that every kind of metric exists. */
async function use({ rest }: TestStack): Promise<void> {
  const petId = await rest.pet({ stock: 1 });
  for (let sent = 0; sent < 10; sent += 1) {
    await rest.get(`/pets/${petId}`);
    await rest.get('/pets/999');
    await rest.withKey(undefined).get('/pets');
  }
}

async function hasScraped(prometheus: TestPrometheus): Promise<boolean> {
  const { result } = await prometheus.get('query', { query: 'count_over_time(up[1m]) >= 4' });
  const seen = await prometheus.get('query', { query: 'petstore_errors_total{reason="API_KEY_MISSING"}' });
  return result.length === INSTANCES + 1 && seen.result.length > 0;
}

for (const name of ['prometheus.yml', 'prometheus-compose.yml']) {
  test(`Rules - promtool accepts them and ${name}`, (t) => {
    const { status, output } = promtool(RULES, ['check', 'config', name]);
    t.is(status, 0, output);
    t.regex(output, /rules found/);
  });
}

test('Rules - each alert fires when it should, and none without a problem', async (t) => {
  const files = ['alerts.test.yml', 'backups.test.yml'];
  const { status, output } = promtool(RULES, ['test', 'rules', ...files]);
  t.is(status, 0, output);
  const tests = (await Promise.all(files.map((file) => readFile(join(RULES, file), 'utf8')))).join('');
  for (const { alert } of await alerts()) t.true(tests.includes(`alertname="${alert}"`), `${alert} has no test`);
});

test('Rules - each alert has a summary and a severity, and the docs say what to do', async (t) => {
  const docs = await readFile(join(ROOT, 'docs/observability.md'), 'utf8');
  for (const { alert, labels, annotations } of await alerts()) {
    t.regex(labels.severity ?? '', /^(critical|warning)$/, alert);
    t.truthy(annotations.summary && annotations.description, alert);
    t.true(docs.includes(`\`${alert}\``), `${alert} is not in docs/observability.md`);
  }
});

test('Metrics - promtool accepts them', async (t) => {
  const { status, output } = promtool(RULES, ['check', 'metrics'], await scrape(t.context.metricsPort));
  t.is(status, 0, output);
  t.is(output, '');
});

test('Metrics - docs/observability.md lists all of them, and no others', async (t) => {
  const docs = await readFile(join(ROOT, 'docs/observability.md'), 'utf8');
  const listed = [...docs.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram) \|/gm)].map(([, name, type]) => [
    name,
    type,
  ]);
  const exposed = typesOf(await scrape(t.context.metricsPort));
  t.deepEqual([...listed].sort(), [...exposed].sort());
});

test('Prometheus - reaches every server and Envoy, and every rule can be evaluated', async (t) => {
  const { prometheus } = t.context;
  const { activeTargets } = await prometheus.get('targets');
  const health = activeTargets.map((target: { health: string }) => target.health);
  t.deepEqual(health, Array(INSTANCES + 1).fill('up'));
  const rules = async () => {
    const { groups } = await prometheus.get('rules');
    return groups.flatMap((group: { rules: { health: string; name: string }[] }) => group.rules);
  };
  const evaluated = await until(async () => {
    const all = await rules();
    return all.every((rule: { health: string }) => rule.health !== 'unknown') && all;
  }, 'an evaluation of every rule');
  t.deepEqual(
    evaluated.filter((rule: { health: string }) => rule.health !== 'ok'),
    [],
  );
});

test('Prometheus - has every series that an alert queries', async (t) => {
  for (const { alert, expr } of await alerts()) await hasAllSeries(t, alert, expr);
});

test('Prometheus - has every series that the dashboard queries, and evaluates all its queries', async (t) => {
  const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8')) as { panels: Panel[] };
  const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const));
  t.true(queries.length > 30);
  for (const [title, template] of queries) {
    const expr = template.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');
    await t.context.prometheus.get('query', { query: expr });
    await hasAllSeries(t, title, expr);
  }
});

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

async function alerts(): Promise<Alert[]> {
  const { groups } = parse(await readFile(join(RULES, 'alerts.yml'), 'utf8')) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/**
 * Checks that each selector of an expression finds a series. An error that has not happened yet has none: for a reason,
 * checks that the error code exists.
 */
async function hasAllSeries(t: Test, asker: string, expr: string): Promise<void> {
  const selectors = [...expr.replace(/\bby \([^)]*\)/g, '').matchAll(SELECTOR)];
  t.true(selectors.length > 0, `${asker} has no selector`);
  for (const [text, name, matchers = ''] of selectors) {
    const reasons = /reason=~?"([^"]*)"/.exec(matchers)?.[1]?.split('|') ?? [];
    for (const reason of reasons) t.true(isErrorCode(reason), `${asker}: there is no code ${reason}`);
    if (name === STANDALONE_ONLY) continue;
    const others = matchers.replace(/reason=~?"[^"]*"/, 'reason!=""');
    const selector = `${name}{${others}}`;
    const found = await t.context.prometheus.get('series', { 'match[]': selector });
    t.true(found.length > 0, `${asker} queries ${text}, which does not exist`);
  }
}
