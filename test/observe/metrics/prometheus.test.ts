/**
 * The alert rules, the dashboard and the documentation name what the service and Envoy expose. promtool tests the
 * rules, and checks the configurations, the queries and the metrics.
 */
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { parse, stringify } from 'yaml';
import { isErrorCode } from '../../../scripts/openapi/error-table.ts';
import { backup } from '../../deploy/backups.ts';
import { missing } from '../../support/machine/find-program.ts';
import { freePorts } from '../../support/scope.ts';
import { type Sample, samplesOf, scrape } from '../../support/service/exposition.ts';
import { sharedMissing, startShared } from '../../support/service/shared.ts';
import { sharing, type TestOf } from '../../support/service/sharing.ts';
import { startTestStack, type TestStack } from '../../support/service/stack.ts';
import { until } from '../../support/until.ts';

const RULES = 'deploy/prometheus';
/** Only a server with mutual TLS has it, which test/hosts/certificates.test.ts scrapes. */
const STANDALONE_ONLY = 'petstore_certificate_days_left';
/** Matches the metrics of the service, of Envoy and of Node, with their label matchers. */
const SELECTOR = /\b((?:petstore|envoy|nodejs|process)_\w+)(?:\{([^}]*)\})?/g;
/** What Envoy shows last: its histograms, after some seconds. */
const LATE = 'envoy_http_downstream_rq_time_bucket';
const MATCHER = /(\w+)(=~|!=|!~|=)"([^"]*)"/g;

const test = sharing(missing('promtool', 'prometheus') ?? sharedMissing, async (t) => {
  const shared = await startShared(t);
  const settings = await shared.settings();
  const [metricsPort = 0] = await freePorts(1);
  const stack = await startTestStack(t, { ...settings, METRICS_PORT: String(metricsPort) });
  const { dataDir, envoyAdminPort } = stack.config;
  await backup(`${dataDir}/backups`, { ...settings, DATA_DIR: dataDir });
  await use(stack);
  return until(async () => {
    /** What a server with PostgreSQL and Redis exposes. */
    const exposed = await scrape(metricsPort);
    const ofEnvoy = await (await fetch(`http://127.0.0.1:${envoyAdminPort}/stats/prometheus`)).text();
    const series = [...seriesOf('petstore', exposed), ...seriesOf('petstore-envoy', ofEnvoy)];
    const has = (wanted: string) => series.some(({ name }) => name === wanted);
    return has('petstore_errors_total') && has(LATE) && { stack, exposed, series };
  }, 'the metrics after the calls');
});
type Test = TestOf<typeof test>;

/** What Prometheus makes of an exposition: it adds labels. */
function seriesOf(job: string, exposition: string): Sample[] {
  return samplesOf(exposition).map((sample) => ({ ...sample, labels: { ...sample.labels, job, instance: job } }));
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

/** Runs promtool. Asserts that it accepts what it checks, and returns its output. */
function promtool(t: Test, args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: RULES, input, encoding: 'utf8' });
  t.is(status, 0, stdout + stderr);
  return stdout + stderr;
}

test('Rules - promtool accepts them, and the configurations with them', (t) => {
  for (const name of ['prometheus.yml', 'prometheus-compose.yml'])
    t.regex(promtool(t, ['check', 'config', name]), /rules found/);
});

test('Rules - each alert fires when it should, and none without a problem', async (t) => {
  const files = ['alerts.test.yml', 'backups.test.yml'];
  promtool(t, ['test', 'rules', ...files]);
  const tests = (await Promise.all(files.map((file) => readFile(`${RULES}/${file}`, 'utf8')))).join('');
  for (const { alert } of await alerts()) t.true(tests.includes(`alertname="${alert}"`), `${alert} has no test`);
});

test('Rules - each alert queries series that exist, has a severity, and the docs say what to do', async (t) => {
  const docs = await readFile('docs/observability.md', 'utf8');
  for (const { alert, expr, labels, annotations } of await alerts()) {
    hasAllSeries(t, alert, expr);
    t.regex(labels.severity ?? '', /^(critical|warning)$/, alert);
    t.truthy(annotations.summary && annotations.description, alert);
    t.true(docs.includes(`\`${alert}\``), `${alert} is not in docs/observability.md`);
  }
});

test('Dashboard - every series that it queries exists, and promtool accepts its queries', async (t) => {
  const text = await readFile('gen/dashboard.json', 'utf8');
  const dashboard = JSON.parse(text.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'));
  const panels: readonly Panel[] = dashboard.panels;
  const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const));
  t.true(queries.length > 30);
  const places = panels.map(({ gridPos: { x, y } }) => `${x},${y}`);
  t.is(new Set(places).size, places.length, 'two panels in one place');
  for (const [title, expr] of queries) hasAllSeries(t, title, expr);
  const rules = queries.map(([, expr], index) => ({ record: `query_${index}`, expr }));
  const file = `${t.context.stack.config.dataDir}/dashboard.yml`;
  await writeFile(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
  promtool(t, ['check', 'rules', file]);
});

test('Metrics - promtool accepts them', (t) => {
  t.is(promtool(t, ['check', 'metrics'], t.context.exposed), '');
});

test('Metrics - docs/observability.md lists all of them, and no others', async (t) => {
  const docs = await readFile('docs/observability.md', 'utf8');
  const rows = [...docs.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (counter|gauge|histogram) \|/gm)];
  const listed = rows.flatMap(([, names, type]) => Array.from(names?.match(/\w+/g) ?? [], (name) => [name, type]));
  const exposed = t.context.exposed.matchAll(/^# TYPE (\w+) (\w+)$/gm);
  t.deepEqual(listed.sort(), Array.from(exposed, ([, name, type]) => [name, type]).sort());
});

interface Panel {
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly expr: string }[];
}

type Alert = { readonly alert: string; readonly expr: string } & Readonly<
  Record<'labels' | 'annotations', Readonly<Record<string, string>>>
>;

async function alerts(): Promise<Alert[]> {
  const { groups } = parse(await readFile(`${RULES}/alerts.yml`, 'utf8')) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/**
 * Checks that each selector of an expression finds a series. An error that has not happened yet has none: for a reason,
 * checks that the error code exists.
 */
function hasAllSeries(t: Test, asker: string, expr: string): void {
  for (const [text, name, matchers = ''] of expr.replace(/\bby \([^)]*\)/g, '').matchAll(SELECTOR)) {
    if (name === STANDALONE_ONLY) continue;
    const wanted = [...matchers.matchAll(MATCHER)];
    for (const [, label, , codes = ''] of wanted) {
      if (label === 'reason') t.true(codes.split('|').every(isErrorCode), `${asker}: there is no code ${codes}`);
    }
    const isFound = (sample: Sample) => sample.name === name && wanted.every((matcher) => hasLabel(sample, matcher));
    t.true(t.context.series.some(isFound), `${asker} queries ${text}, which does not exist`);
  }
}

function hasLabel({ labels }: Sample, [, label = '', operator = '', wanted = '']: RegExpExecArray): boolean {
  const value = labels[label] ?? '';
  if (label === 'reason') return value !== '';
  const isEqual = operator.endsWith('~') ? new RegExp(`^(?:${wanted})$`).test(value) : value === wanted;
  return operator.startsWith('!') ? !isEqual : isEqual;
}
