import { type ActName, actNames } from "../act-names.ts";
import { DatabaseInUse } from "../database/database-in-use.ts";
import type { CommitNotice } from "../event-store.ts";
import type { ClaimInput, Store } from "../store.ts";
import { openServer } from "./connection/check-server.ts";
import type { Connection } from "./connection/connection.ts";
import { blame, storeUnavailable } from "./connection/postgres-error.ts";
import { ServerPulse } from "./connection/server-pulse.ts";
import { compareDatabase } from "./database/compare-database.ts";
import { openIdentity } from "./database/identity.ts";
import { migrate } from "./database/migrate.ts";
import { SharedState } from "./hubs/shared-state.ts";
import { WakeUps } from "./hubs/wake-ups.ts";
import { addPartitions, LogPartitions } from "./log/log-partitions.ts";
import { isReadAct, runRead } from "./reads/read-acts.ts";
import { Readers } from "./reads/readers.ts";
import { describeError } from "./transaction/answers.ts";
import { removeOldLanesText } from "./transaction/lane.ts";
import { Writer } from "./transaction/writer.ts";

export type PostgresSettings = {
  /** postgres://user:password@host:port/database */
  url: string;
  macKey: Buffer;
  /** The term of this hub's lead, null while another hub leads: then what only a leader may do is refused. */
  term?: () => number | null;
  /** A hub's: what it opens beside the store is compared with it too. */
  inUse?: DatabaseInUse;
};

/**
 * Opens a database: checks the server, migrates the schema, and connects what reads, what writes, and what hears of the
 * commits of others. Why: ADR 0080.
 */
export async function openPostgresStore({
  url,
  macKey,
  term,
  inUse = new DatabaseInUse(),
}: PostgresSettings): Promise<Store> {
  const pulse = new ServerPulse(url);
  const settings = { url, inUse, leftBehind: new Set<number>() };
  const first = await openServer({ ...settings, silence: pulse.silence });
  await prepareDatabase(first, { macKey, inUse });
  const readers = new Readers(settings, pulse, first);
  const listeners = new Set<(notice: CommitNotice) => void>();
  const shared = new SharedState();
  const partitions = new LogPartitions((add) => readers.use(add));
  const tell = (notice: CommitNotice): void => {
    partitions.follow(notice.lastSeq);
    for (const listener of listeners) listener(notice);
  };
  const wakeUps = new WakeUps(settings, tell);
  const writer = new Writer(
    settings,
    pulse,
    { shared, macKey, term, apart: (use) => readers.use(use) },
    (committed) => {
      if (committed.notice !== null) tell(committed.notice);
      wakeUps.committed(committed);
    },
  );
  const call = (name: ActName, input: unknown): Promise<unknown> => {
    if (name === "unparkClaim") return unpark(shared, input as { claimId: string });
    // A claim that looks again first receives what another transaction has leased to it meanwhile.
    if (name === "claimJobs")
      return writer.call(name, input).finally(() => shared.handedOver((input as ClaimInput).parkAs));
    if (!isReadAct(name)) return writer.call(name, input);
    return readers.read((sql) => runRead(sql, { name, input }, { macKey, inUse })).catch(asSeen);
  };
  const acts = Object.fromEntries(
    actNames.map((name) => [name, (input?: unknown) => call(name, input)]),
  ) as unknown as Pick<Store, ActName>;
  return {
    ...acts,
    onCommit: (listener) => {
      listeners.add(listener);
      wakeUps.start();
      return () => listeners.delete(listener);
    },
    // What was asked for before is answered; the writer also needs the readers' connections.
    close: async () => {
      await writer.close();
      await wakeUps.close();
      await readers.close();
      pulse.close();
    },
  };
}

/** Brings the schema up to date, on a connection that is closed if this is not the database that it should be. */
async function prepareDatabase(
  first: Connection,
  { macKey, inUse }: { macKey: Buffer; inUse: DatabaseInUse },
): Promise<void> {
  try {
    await migrate(first);
    await openIdentity(first, macKey);
    await addPartitions(first);
    await first.run(removeOldLanesText);
    await compareDatabase(first, inUse);
  } catch (error) {
    await first.close();
    throw storeUnavailable(error);
  }
}

/** Jobs may be on their way to it: it is told of them before it has left, so that no job is leased to a claim that has gone. */
async function unpark(shared: SharedState, { claimId }: { claimId: string }): Promise<void> {
  shared.parked.leave(claimId);
  await shared.handedOver(claimId);
}

function asSeen(error: unknown): never {
  throw blame(error) === "connection" ? storeUnavailable(error) : describeError(error);
}
