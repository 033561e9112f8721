/** Runs a command against the admin service: finds address and operator key, connects, and explains failures. */
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { status } from '@grpc/grpc-js';
import type { Command } from 'commander';
import { AdminServiceService } from '../../../gen/apiplatform/admin/v1/admin.ts';
import { isWellFormed } from '../access/keys/format.ts';
import { operatorKeyFile } from '../access/keys/key-files.ts';
import { CallError } from '../client/call-error.ts';
import { type ConnectionOptions, connect } from '../client/connection.ts';
import type { Methods } from '../client/methods.ts';
import type { TlsOptions } from '../client/tls.ts';
import { formatAddress, type ServerAddress, toReachableHost } from '../config/checks.ts';
import { type Config, readConfig } from '../config/config.ts';
import { readInternalTls } from '../files/tls-files.ts';
import { failure, usageError } from './failure.ts';
import { toJson } from './output.ts';

export type Admin = Methods<AdminServiceService>;

/** The result of a command: messages to be printed as JSON for programs, and the same as text for people. */
export interface Output {
  readonly json: unknown;
  readonly text: string;
}

/** Makes a command call the admin service, and print the result. `call` gets the command's arguments and options. */
export function adminAction<Inputs extends unknown[]>(
  command: Command,
  call: (admin: Admin, ...inputs: Inputs) => Promise<Output>,
): void {
  command.action(async (...inputs: Inputs) => {
    const config = readConfig();
    const { key, source } = await findOperatorKey(config);
    const server = await findServer(command, config);
    const connection = connect({ ...server, apiKey: key });
    try {
      const { json, text } = await call(connection.service(AdminServiceService), ...inputs);
      const isJson = command.optsWithGlobals<{ json?: true }>().json;
      command.configureOutput().writeOut?.(`${isJson ? toJson(json) : text}\n`);
    } catch (error) {
      throw error instanceof CallError ? explain(error, server, source) : error;
    } finally {
      await connection.close();
    }
  });
}

type Server = Pick<ConnectionOptions, 'address' | 'tls'>;

async function findServer(command: Command, config: Config): Promise<Server> {
  const { address } = command.optsWithGlobals<{ address?: ServerAddress }>();
  const { host, port } = address ?? { host: toReachableHost(config.grpcHost), port: config.grpcPort };
  return { address: formatAddress(host, port), tls: await toTls(config, host) };
}

/** Mutual TLS with this host's certificate, if it has one. A server that an IP address names must be this host. */
async function toTls({ internalTls }: Config, host: string): Promise<TlsOptions | false> {
  if (internalTls === undefined) return false;
  const { ca, cert, key, certificate } = await readInternalTls(internalTls);
  if (isIP(host) === 0) return { ca, cert, key };
  const [, serverName] = /DNS:([^,]+)/.exec(certificate.subjectAltName ?? '') ?? [];
  if (serverName !== undefined) return { ca, cert, key, serverName };
  throw usageError(`--address must name the server, not ${host}: INTERNAL_TLS_CERT has no name to expect there`);
}

async function findOperatorKey({ operatorKey, dataDir }: Config): Promise<{ key: string; source: string }> {
  if (operatorKey !== undefined) return { key: operatorKey, source: 'OPERATOR_KEY' };
  const source = operatorKeyFile(dataDir);
  const key = await readFile(source, 'utf8').catch(() => '');
  if (isWellFormed(key.trim(), 'operator')) return { key: key.trim(), source };
  const advice = 'the service creates it when it first starts; or set OPERATOR_KEY';
  throw failure('OPERATOR_KEY_MISSING', `no operator key can be read from ${source}: ${advice}`);
}

/** What went wrong and what to do about it, in one line. Messages of the server are unchanged. */
function explain(error: CallError, { address, tls }: Server, keySource: string): Error {
  const { code, grpcStatus, retryAfterMs } = error;
  if (code === 'OPERATOR_KEY_INVALID')
    return failure(
      code,
      `the server at ${address} does not accept the key in ${keySource}: name its server with --address`,
    );
  if (grpcStatus === status.INVALID_ARGUMENT) return usageError(error.message, code);
  if (grpcStatus === status.DEADLINE_EXCEEDED) return failure(code, `the server at ${address} did not respond in time`);
  if (grpcStatus === status.UNAVAILABLE && retryAfterMs === undefined) {
    const advice = 'start the service with "npm start", or name another --address';
    return failure('SERVER_AWAY', `nothing answers at ${address}${tls ? ' by mutual TLS' : ''}: ${advice}`);
  }
  if (grpcStatus === status.UNAUTHENTICATED || grpcStatus === status.UNIMPLEMENTED) {
    const advice = 'it is on the private gRPC port (GRPC_PORT), not on the public one';
    return failure('NO_ADMIN_SERVICE', `there is no admin service at ${address}: ${advice}`);
  }
  return failure(code, error.message);
}
