/** The work was cancelled before it began: the deadline had passed or the caller had left. */
export class Cancelled extends Error {}

/** The idempotency key has a record: its request is done already. The transaction is rolled back. */
export class AlreadyDone extends Error {}

/** Another row has the value of a unique index. The transaction is rolled back. For callers the service names it. */
export class NotUnique extends Error {}

/**
 * The database can't be reached, does not respond in time, is locked by others, has no room, or is closed. The change
 * has not happened, except that the outcome is unknown when the connection broke during the commit.
 */
export class StoreUnavailable extends Error {}
