/** The Grafana dashboard, from a table of its panels. */
import { API_PACKAGE, CLASS_NAME, NAME } from '../src/identity.ts';

const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };
const INSTANCES = `label_values(${NAME}_build_info, instance)`;
const PUBLIC = '{envoy_http_conn_manager_prefix="public"}';
const CLUSTERS = `{envoy_cluster_name=~"${NAME}.*"}`;
const METHODS = `method=~"${API_PACKAGE.replaceAll('.', '[.]')}[.].*"`;

/** A metric of the servers. */
function ours(metric: string, ...labels: readonly string[]): string {
  return `${NAME}_${metric}{${[...labels, 'instance=~"$instance"'].join()}}`;
}

/** A metric of their processes. */
function processes(metric: string): string {
  return `${metric}{job="${NAME}",instance=~"$instance"}`;
}

/** Of a counter, a second. */
function rate(series: string): string {
  return `rate(${series}[$__rate_interval])`;
}

function quantile(share: number, series: string, ...labels: readonly string[]): string {
  return `histogram_quantile(${share}, sum by (${['le', ...labels].join(', ')}) (${rate(series)}))`;
}

function percentiles(series: string): Queries {
  return { p50: quantile(0.5, series), p90: quantile(0.9, series), p99: quantile(0.99, series) };
}

/** A line for each value of the labels. */
function sumBy(labels: string, expr: string): Queries {
  return { [labels.replaceAll(/(\w+),?/g, '{{$1}}')]: `sum by (${labels}) (${expr})` };
}

/** Expressions by the legends of their lines; one alone has a line for each instance. */
type Queries = string | Readonly<Record<string, string>>;
type Panel = Readonly<Record<string, unknown>>;

function panel(type: string, title: string, description: string, queries: Queries, more: object): Panel {
  const targets = Object.entries(typeof queries === 'string' ? { '{{instance}}': queries } : queries);
  return {
    ...{ type, title, description, datasource: DATASOURCE },
    targets: targets.map(([legendFormat, expr], index) => {
      const form = type === 'table' ? { format: 'table', instant: true } : {};
      return { refId: String.fromCharCode(65 + index), datasource: DATASOURCE, expr, legendFormat, ...form };
    }),
    ...more,
  };
}

/** A number. Each color begins at its value. */
function stat(title: string, description: string, unit: string, expr: string, colors: object): Panel {
  const steps = Object.entries(colors).map(([color, value]) => ({ color, value }));
  const defaults = { unit, thresholds: { mode: 'absolute', steps } };
  const options = { colorMode: 'value', graphMode: 'area', reduceOptions: { calcs: ['lastNotNull'] } };
  return panel('stat', title, description, { '': expr }, { fieldConfig: { defaults, overrides: [] }, options });
}

function graph(title: string, description: string, unit: string, queries: Queries, max: object, custom: object): Panel {
  const line = { drawStyle: 'line', lineWidth: 1, showPoints: 'never', ...custom };
  const options = { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } };
  const fieldConfig = { defaults: { unit, min: 0, ...max, custom: line }, overrides: [] };
  return panel('timeseries', title, description, queries, { fieldConfig, options });
}

function lines(title: string, description: string, unit: string, queries: Queries, max = {}): Panel {
  return graph(title, description, unit, queries, max, { fillOpacity: 5, stacking: { mode: 'none' } });
}

/** Requests a second, one kind above the other. */
function stacked(title: string, description: string, queries: Queries): Panel {
  return graph(title, description, 'reqps', queries, {}, { fillOpacity: 20, stacking: { mode: 'normal' } });
}

const DURATION = ours('grpc_call_duration_seconds_bucket', METHODS);
const CLASSES = `sum by (envoy_response_code_class) (${rate(`envoy_http_downstream_rq_xx${PUBLIC}`)})`;
const FAULTS = rate(`${NAME}_errors_total{reason=~"INTERNAL|UNAVAILABLE|DEADLINE_EXCEEDED"}`);
const CALLS = rate(`${NAME}_grpc_calls_total{${METHODS}}`);
const SHED = rate(`envoy_cluster_upstream_rq_active_overflow${CLUSTERS}`);
const SHED_WAITING = rate(`envoy_cluster_upstream_rq_pending_overflow${CLUSTERS}`);
const REFUSALS = rate(ours('errors_total', 'reason=~"RATE_LIMITED|API_KEY_BANNED"'));
const EXPIRY = 'envoy_server_days_until_first_cert_expiring < 100000';
const HEALTHY = `envoy_cluster_membership_healthy{envoy_cluster_name="${NAME}"}`;
const PRESSURE = 'envoy_overload_envoy_resource_monitors';

const SECTIONS: Readonly<Record<string, readonly Panel[]>> = {
  Now: [
    stat('Servers', 'Servers whose METRICS_PORT answers.', 'short', `sum(up{job="${NAME}"})`, { red: null, green: 1 }),
    stat(
      'Requests',
      'All that reach the public port.',
      'reqps',
      `sum(${rate(`envoy_http_downstream_rq_total${PUBLIC}`)})`,
      { green: null },
    ),
    stat(
      'Our faults',
      'Share of the calls that end with 500, 503 or 504.',
      'percentunit',
      `sum(${FAULTS}) / sum(${CALLS})`,
      { green: null, orange: 0.001, red: 0.01 },
    ),
    stat('p99', 'In the servers, over all calls of the public services.', 's', quantile(0.99, DURATION), {
      green: null,
      orange: 0.25,
      red: 0.5,
    }),
    stat('Calls shed', 'Refused by Envoy for lack of room.', 'reqps', `sum(${SHED}) + sum(${SHED_WAITING})`, {
      green: null,
      red: 0.01,
    }),
    stat('Certificate', 'Days until the first one expires; nothing without TLS.', 'd', `min(${EXPIRY})`, {
      red: null,
      orange: 3,
      green: 14,
    }),
  ],
  Traffic: [
    stacked('Answers of Envoy by class', 'Public port, HTTP status. A gRPC call is a 2xx whatever its own status is.', {
      '{{envoy_response_code_class}}xx': CLASSES,
    }),
    stacked(
      'Calls by method',
      'In the servers, health checks and questions of Envoy too.',
      sumBy('method', rate(ours('grpc_calls_total'))),
    ),
    lines(
      'Connections',
      'Open on the public port.',
      'short',
      sumBy('instance', `envoy_http_downstream_cx_active${PUBLIC}`),
    ),
  ],
  Errors: [
    stacked('Errors by reason', 'The code that callers see.', sumBy('reason', rate(ours('errors_total')))),
    stacked(
      'Calls by gRPC status, without OK',
      'CANCELLED: the caller left before the answer.',
      sumBy('code', rate(ours('grpc_calls_total', 'code!="OK"'))),
    ),
    lines(
      'Calls that Envoy sent again',
      'Because a server could not be reached, or a read was slow.',
      'reqps',
      sumBy('envoy_cluster_name', rate(`envoy_cluster_upstream_rq_retry${CLUSTERS}`)),
    ),
  ],
  Latency: [
    lines('In the servers', 'From the headers of a call to its response.', 's', percentiles(DURATION)),
    lines('p99 by method', '', 's', { '{{method}}': quantile(0.99, DURATION, 'method') }),
    lines(
      'At Envoy',
      'From the first byte of a request to the last of its answer: a slow client is slow here.',
      'ms',
      percentiles(`envoy_http_downstream_rq_time_bucket${PUBLIC}`),
    ),
  ],
  Saturation: [
    lines(
      'CPU',
      '1 is a whole core; a server has use for little more.',
      'percentunit',
      rate(processes('process_cpu_seconds_total')),
    ),
    lines(
      'Event loop delay, p99',
      'Since the last scrape. 10 ms of it are the clock that measures.',
      's',
      processes('nodejs_eventloop_lag_p99_seconds'),
    ),
    lines('Open calls', 'Envoy lets 512 through to each server.', 'short', {
      '{{instance}} {{kind}}': ours('grpc_open_calls'),
    }),
    lines('Memory', '', 'bytes', {
      '{{instance}}': processes('process_resident_memory_bytes'),
      'Envoy {{instance}}': 'envoy_server_memory_physical_size',
    }),
    lines(
      'Garbage collection',
      'Share of the time.',
      'percentunit',
      sumBy('instance, kind', rate(processes('nodejs_gc_duration_seconds_sum'))),
    ),
    lines(
      'Files open',
      'Of those that there may be.',
      'percentunit',
      `${processes('process_open_fds')} / ${processes('process_max_fds')}`,
    ),
    lines(
      'Calls that Envoy sheds',
      '503 at once, because more are under way than the servers may have.',
      'reqps',
      sumBy('envoy_cluster_name', `${SHED} + ${SHED_WAITING}`),
    ),
    lines('Healthy servers, as Envoy sees them', '', 'short', `min by (instance) (${HEALTHY})`),
    lines(
      "Envoy's memory and connections",
      'Of what there may be.',
      'percent',
      {
        'memory {{instance}}': `${PRESSURE}_fixed_heap_pressure`,
        'connections {{instance}}': `${PRESSURE}_global_downstream_max_connections_pressure`,
      },
      { max: 100 },
    ),
  ],
  'Limits and keys': [
    stacked('Refusals by plan', '429. "none" are addresses without a valid key.', sumBy('plan, reason', REFUSALS)),
    lines(
      'Bans by plan',
      'That have begun.',
      'short',
      sumBy('plan', `increase(${ours('bans_total')}[$__rate_interval])`),
    ),
    stacked('Without a valid key', '', sumBy('reason', rate(ours('errors_total', 'plan="none"')))),
    lines(
      'Redis',
      '1: it counts the limits of all servers. 0: each server counts by itself.',
      'short',
      ours('redis_up'),
      { max: 1 },
    ),
  ],
  Storage: [
    lines('Database', '0: calls that need it fail.', 'short', ours('database_up'), { max: 1 }),
    lines('Counts that are not stored yet', 'Emptied twice a second.', 'short', ours('usage_backlog_rows')),
    lines(
      'PostgreSQL: connections',
      'In use, of those that there may be.',
      'percentunit',
      { '{{instance}} {{pool}}': `${ours('database_pool_in_use')} / ${ours('database_pool_connections')}` },
      { max: 1 },
    ),
    lines('PostgreSQL: waiting', 'Calls that wait for a connection.', 'short', {
      '{{instance}} {{pool}}': ours('database_pool_waiting'),
    }),
  ],
  Events: [
    lines('Streams of events open', 'Open on each server.', 'short', ours('grpc_open_calls', 'kind="feed"')),
    lines('Feed stands still', 'For how long a newer event could not be read.', 's', ours('events_stalled_seconds')),
  ],
  Build: [
    panel('table', 'What runs', '', ours('build_info'), {
      transformations: [
        { id: 'organize', options: { excludeByName: { Time: true, Value: true, __name__: true, job: true } } },
      ],
    }),
  ],
};

/** The panels below their sections' titles, three a line or two, by their number. */
function panels(): readonly object[] {
  let y = 0;
  return Object.entries(SECTIONS).flatMap(([title, section], index) => {
    const [isFirst, columns] = [index === 0, section.length % 3 === 0 ? 3 : Math.min(section.length, 2)];
    const [w, h] = isFirst ? [24 / section.length, 4] : [24 / columns, 8];
    const top = { type: 'row', title, collapsed: false, gridPos: { h: 1, w: 24, x: 0, y }, panels: [] };
    const placed = section.map((one, at) => {
      const x = (at * w) % 24;
      return { ...one, gridPos: { h, w, x, y: y + 1 + Math.floor((at * w) / 24) * h } };
    });
    y = Math.max(...placed.map(({ gridPos }) => gridPos.y + h));
    return [top, ...placed];
  });
}

/** For Grafana to import, a panel a line. */
export function dashboard(): string {
  const list = panels().map((one, index) => JSON.stringify({ id: index + 1, ...one }));
  const head = {
    ...{ title: NAME, uid: NAME, tags: [NAME], timezone: 'browser', editable: true, graphTooltip: 1 },
    description: `The ${NAME} service: servers (METRICS_PORT) and Envoy (ENVOY_ADMIN_PORT).`,
    ...{ schemaVersion: 39, version: 1, refresh: '30s', time: { from: 'now-1h', to: 'now' } },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1, hide: 0 },
        {
          ...{ name: 'instance', label: 'Server', type: 'query', datasource: DATASOURCE },
          ...{ query: { query: INSTANCES, refId: 'instances' }, definition: INSTANCES, refresh: 2, sort: 1, hide: 0 },
          ...{ includeAll: true, multi: true, allValue: '.*', current: { text: 'All', value: '$__all' } },
        },
      ],
    },
    annotations: {
      list: [
        {
          ...{ name: 'Alerts', datasource: DATASOURCE, enable: true, iconColor: 'red' },
          expr: `ALERTS{alertname=~"${CLASS_NAME}.*",alertstate="firing"}`,
          ...{ titleFormat: '{{alertname}}', textFormat: '{{instance}}' },
        },
      ],
    },
  };
  return `${JSON.stringify(head).slice(0, -1)},"panels":[\n${list.join(',\n')}\n]}\n`;
}
