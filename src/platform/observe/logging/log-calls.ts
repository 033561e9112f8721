/** Logs the end of each call: at `debug`, or at `error` with the cause of a fault of ours. Never headers or bodies. */
import type { Logger } from 'pino';
import type { Observer } from '../../rpc/chain.ts';

export function logging(logger: Logger): Observer {
  return ({ requestId, operation }, { error, durationMs }) => {
    const level = error?.cause === undefined ? 'debug' : 'error';
    if (!logger.isLevelEnabled(level)) return;
    const outcome = { outcome: error?.code ?? 'OK', durationMs: Math.round(durationMs * 1_000) / 1_000 };
    logger[level]({ requestId, method: operation.path, ...outcome, err: error?.cause }, 'call');
  };
}
