/**
 * Our advisory locks, all in one space. The log (1) is taken last in every transaction; its partitions (2) and migrations
 * (3) by those who change the schema. Every hub shares the lock of the seats (4); until version 0.2 one hub had it alone.
 * The leader has the lead (5). A process that receives the commits of others shares the last one (6). Why: ADR 0021, ADR 0083.
 */
const space = 1465010516;

const log = 1;
const migrations = 3;
const seats = 4;
const lead = 5;
const listeners = 6;

/** Both until the transaction ends. */
export const lockLogText = `SELECT pg_advisory_xact_lock(${space}, ${log})`;
export const lockMigrationsText = `SELECT pg_advisory_xact_lock(${space}, ${migrations})`;
export const takeSeatText = `SELECT pg_try_advisory_lock_shared(${space}, ${seats}) AS free`;
/** For a process that must be alone with the database. */
export const takeAllSeatsText = `SELECT pg_try_advisory_lock(${space}, ${seats}) AS free`;
export const takeLeadText = `SELECT pg_try_advisory_lock(${space}, ${lead}) AS free`;
export const joinListenersText = `SELECT pg_advisory_lock_shared(${space}, ${listeners})`;

/** Each unique key has a lock, by a number that is made of it. A transaction that may take the key holds it to its end. */
const keys = space + 2;
export const lockKeysText = `SELECT pg_advisory_xact_lock(${keys}, number) FROM unnest($1::int[]) AS number`;

/** Every connection has a lock of its own, by which others find the server's process behind it. */
const connections = space + 1;
/** Such a number; two connections with the same one would only mean that the second cannot be found. */
export const connectionsMax = 2 ** 31;
export const markConnectionText = (connection: number): string =>
  `SELECT pg_try_advisory_lock(${connections}, ${connection})`;

/**
 * Those of some connections that the server still has a process for. Processes that wait for their client are ended: nothing
 * is sent to them any more. One that works, or waits for a disk or a standby, is left alone, so that what it commits is
 * as safe as ever.
 */
export const endConnectionsText = `SELECT objid AS number,
    CASE WHEN wait_event = 'ClientRead' THEN pg_terminate_backend(pid) END
  FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND classid = ${connections} AND objsubid = 2 AND objid::bigint = ANY ($1::bigint[])`;

/** Rows of processes that hold a lock; the database is named because the view shows those of all. */
const holdersOf = (lock: number): string => `(SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = ${space} AND objid = ${lock} AND objsubid = 2)`;

export const seatHolders = holdersOf(seats);
export const leadHolders = holdersOf(lead);
export const listenerPids = holdersOf(listeners);
