/**
 * The header `grpc-timeout`: one to eight digits and a unit
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md), up to 99,999,999 hours.
 */
import { type ApiError, invalidArgument } from '../errors.ts';
import type { Call } from './chain.ts';

const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNITS_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The timeout in milliseconds; Infinity without a header, undefined for one that is malformed. */
export function parseTimeout(header: string | undefined): number | undefined {
  if (header === undefined) return Number.POSITIVE_INFINITY;
  const [, digits, unit = ''] = TIMEOUT.exec(header) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS_MS[unit] ?? 0);
}

/** Envoy passes that of a Connect caller on as gRPC's. */
export function invalidTimeout({ protocol }: Pick<Call, 'protocol'>): ApiError {
  const [name, description] =
    protocol.name === 'Connect'
      ? ['connect-timeout-ms', 'must be 1 to 10 digits']
      : ['grpc-timeout', 'must be 1 to 8 digits and a unit: H, M, S, m, u or n'];
  return invalidArgument([{ path: name, name, description }]);
}
