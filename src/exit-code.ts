/**
 * How a server ends that can't start now and may later: the database is away, the disk is full. `EX_TEMPFAIL` of BSD's
 * sysexits.h.
 */
export const TRY_AGAIN = 75;
