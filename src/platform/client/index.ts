/** What each typed client publishes. gen/client/index.ts has one's services and messages besides, and its names. */

export type { FieldViolation } from './call-error.ts';
export type { ConnectionOptions as ClientOptions } from './connection.ts';
export { etagOf } from './etags.ts';
export type { EventsOptions } from './events.ts';
export type { CallOptions, CreateOptions, WriteOptions } from './methods.ts';
export { pages } from './pages.ts';
export type { TlsOptions } from './tls.ts';
