/** Settings of logs, metrics and traces. */
import { toCollector, toCount, toHost, toLogLevel, toLogs, toPort, toRatio, toSampler, wholeNumber } from './checks.ts';
import { optional, setting } from './setting.ts';

const MAX_LOG_FILES = 1_000;

export const LOGS = {
  LOGS: setting({
    about: 'Where a standalone edge (`npm run edge`) logs: `files` in `DATA_DIR/logs`, or JSON lines on `stdout`.',
    fallback: 'files',
    parse: toLogs,
  }),
  LOG_LEVEL: setting({
    about: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. At `debug` each call is logged.',
    fallback: 'info',
    parse: toLogLevel,
  }),
  LOG_FILE: optional({
    about: 'The log file of a server that is started without the launcher. The launcher sets it for its servers.',
    fallbackInWords: 'stdout',
    parse: (text) => text,
  }),
  AUDIT_FILE: optional({
    about:
      'The audit log of a server that is started without the launcher: what the operator does, at every `LOG_LEVEL`. ' +
      "The launcher's servers share `logs/audit.log` in `DATA_DIR`.",
    fallbackInWords: "the server's log",
    parse: (text) => text,
  }),
  LOG_MAX_BYTES: setting({
    about: 'The size at which a log is rotated.',
    fallback: '50000000',
    parse: toCount,
  }),
  LOG_FILES: setting({
    about: 'How many files of each log are kept, the current one included.',
    fallback: '5',
    parse: wholeNumber('number', MAX_LOG_FILES),
  }),
};

export const OBSERVABILITY = {
  METRICS_PORT: optional({
    about:
      'The port of metrics for Prometheus, `GET /metrics`, over plain HTTP without a key. ' +
      'With `INSTANCES` each server has its own: this port and those after it. It answers requests for an IP address, ' +
      'for `localhost` and for `METRICS_HOST`.',
    fallbackInWords: 'off',
    parse: toPort,
  }),
  METRICS_HOST: setting({
    about:
      'The address that `METRICS_PORT` listens on, or a name for it, by which it can then be scraped. Whoever can ' +
      'connect sees how much the service is used.',
    fallback: '127.0.0.1',
    parse: toHost,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional({
    about: 'The collector of traces, over OTLP/HTTP (Protobuf): `http://127.0.0.1:4318`.',
    fallbackInWords: 'no traces',
    parse: toCollector,
  }),
  OTEL_TRACES_SAMPLER: setting({
    about:
      'Which requests are traced: all (`always_on`) or a share of them (`traceidratio`). ' +
      'With `parentbased_always_on` and `parentbased_traceidratio`, a `traceparent` header decides for its request.',
    fallback: 'always_on',
    parse: toSampler,
  }),
  OTEL_TRACES_SAMPLER_ARG: setting({
    about: 'The share of requests that `traceidratio` and `parentbased_traceidratio` trace.',
    fallback: '1',
    parse: toRatio,
  }),
};
