/** What storage throws, by name. */

/** The work was cancelled before it began: the deadline had passed or the caller had left. */
export class Cancelled extends Error {
  override name = 'Cancelled';
}

/** What an idempotency key was sent for is done already: its record is there. Nothing of the transaction has happened. */
export class AlreadyDone extends Error {
  override name = 'AlreadyDone';
}

/** The store is closed or closing: no work is begun any more. */
export class StoreClosed extends Error {
  override name = 'StoreClosed';
}

/**
 * The database is away, does not answer in time, is held up by others, or lacks room. Of a change whose connection broke while it was being
 * committed nobody knows whether it happened; any other has not happened.
 */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable';
}

/** The schema is not one that this release works with. The message says what to do. */
export class SchemaRefused extends Error {
  override name = 'SchemaRefused';
}
