import { randomUUID } from "node:crypto";
import { WritError } from "../../../core/errors.ts";
import type { DatabaseInUse } from "../../database/database-in-use.ts";
import type { HubBeat, HubIntroduction, HubRow, HubSeat } from "../../database/hub-seat.ts";
import { Connection, type ConnectionSettings } from "../connection/connection.ts";
import { leadHolders, seatHolders, takeLeadText, takeSeatText } from "../connection/locks.ts";
import { storeUnavailable } from "../connection/postgres-error.ts";

/** A leader that was killed is followed so soon. */
const askMs = 250;
/** The server ends a seat that has been silent for so long; a hub stops leading a little earlier. */
const serverMs = 3_000;
const silentMs = 2_500;
/** A beat that is not answered by then is no beat. */
const answerMs = 2_000;
/** If no hub was seen for longer than this, workers could not renew their leases. */
const awayMs = 5_000;
/** The database's clock is known to half of this. */
const clockAnswerMs = 500;
const clockTriesMax = 5;

/** Takes a seat at a database. Throws if a hub of an earlier version has it for itself. Why: ADR 0028, ADR 0083. */
export async function takeSeat(url: string, inUse?: DatabaseInUse): Promise<HubSeat> {
  const seat = new PostgresSeat({ url, ...(inUse && { inUse }) });
  await seat.open();
  return seat;
}

/**
 * The seat and the lead are locks of one connection, so they go with the hub, however it ends; and the server ends the
 * connection of a hub that is silent.
 */
class PostgresSeat implements HubSeat {
  readonly askMs = askMs;
  readonly silentMs = silentMs;
  readonly #id = randomUUID();
  readonly #settings: ConnectionSettings;
  #sql: Connection | null = null;
  #isTimed = false;
  #hub: HubIntroduction | null = null;
  #lead: { term: number; wasSilent: boolean } | null = null;
  #onLost: () => void = () => {};

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  async open(): Promise<Connection> {
    if (this.#sql !== null && !this.#sql.isLost) return this.#sql;
    this.#lead = null;
    const sql = await Connection.open(this.#settings);
    try {
      if (!(await sql.first<{ free: boolean }>(takeSeatText))!.free) throw otherVersion();
    } catch (error) {
      await sql.close();
      throw storeUnavailable(error);
    }
    this.#sql = sql;
    this.#isTimed = false;
    sql.onLost(() => {
      this.#lead = null;
      this.#onLost();
    });
    return sql;
  }

  onLost(listener: () => void): void {
    this.#onLost = listener;
  }

  async beat(): Promise<HubBeat> {
    const late = setTimeout(() => this.#sql?.destroy(), answerMs);
    try {
      const sql = await this.open();
      // The start of a hub takes longer than this, so it begins with the first beat.
      if (!this.#isTimed) await sql.script(`SET idle_session_timeout = ${serverMs}`);
      this.#isTimed = true;
      this.#lead ??= await this.#tryLead(sql);
      const [clock, , hubs] = await sql.together(() =>
        Promise.all([readClock(sql), this.#sign(sql), sql.all<HubRow>(hubsText)]),
      );
      const aheadMs = clock.tookMs > clockAnswerMs ? null : clock.aheadMs;
      return { term: null, wasSilent: false, ...this.#lead, hubs, aheadMs };
    } catch (error) {
      throw storeUnavailable(error);
    } finally {
      clearTimeout(late);
    }
  }

  /** A machine that is just starting much may be slow once; then the best answer counts. */
  async readClock(): Promise<number> {
    const sql = await this.open();
    let best = await readClock(sql);
    for (let tries = 1; tries < clockTriesMax && best.tookMs > clockAnswerMs; tries++) {
      const next = await readClock(sql);
      if (next.tookMs < best.tookMs) best = next;
    }
    return best.aheadMs;
  }

  /** The hub that had the lead before may still be writing as the leader; the row waits for it. */
  async #tryLead(sql: Connection): Promise<{ term: number; wasSilent: boolean } | null> {
    if (!(await sql.first<{ free: boolean }>(takeLeadText))!.free) return null;
    const seen = await sql.first<{ others: number; agoMs: number | null }>(lastSeenText, this.#id);
    const taken = await sql.first<{ term: number }>(
      `INSERT INTO leader (term) VALUES (1) ON CONFLICT (one) DO UPDATE SET term = leader.term + 1 RETURNING term`,
    );
    const isStarting = this.#hub === null;
    const wasAway = seen!.agoMs === null || seen!.agoMs > awayMs;
    return { term: taken!.term, wasSilent: wasAway || (isStarting && seen!.others === 0) };
  }

  introduce(hub: HubIntroduction): void {
    this.#hub = hub;
  }

  /** Keeps the hub's row fresh, and removes those of hubs that are gone. */
  async #sign(sql: Connection): Promise<void> {
    if (this.#hub === null) return;
    const { name, url, version } = this.#hub;
    await sql.run(signText, this.#id, name, url, version);
  }

  async withdraw(): Promise<void> {
    this.#hub = null;
    // A hub must be able to stop without its database; the row means nothing once the seat is gone.
    await this.#sql?.run("DELETE FROM hubs WHERE id = $1", this.#id).catch(() => {});
  }

  async leave(): Promise<void> {
    const sql = this.#sql;
    this.#sql = null;
    this.#lead = null;
    this.#onLost = () => {};
    await sql?.close();
  }
}

/** It was read at some moment between question and answer; the middle is wrong by half of that at most. */
async function readClock(sql: Connection): Promise<{ aheadMs: number; tookMs: number }> {
  const askedAtMs = performance.now();
  const read = await sql.first<{ nowMs: number }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs"`,
  );
  const tookMs = performance.now() - askedAtMs;
  return { aheadMs: read!.nowMs - askedAtMs - tookMs / 2, tookMs };
}

/** A row whose process is no seat any more says only when its hub was last seen; a minute later no reader needs it. */
const signText = `WITH gone AS (
    DELETE FROM hubs WHERE id <> $1::uuid AND (pid = pg_backend_pid()
      OR (seen_at < clock_timestamp() - interval '1 minute' AND pid NOT IN ${seatHolders})))
  INSERT INTO hubs (id, pid, name, url, version) VALUES ($1::uuid, pg_backend_pid(), $2, $3, $4)
  ON CONFLICT (id) DO UPDATE SET pid = excluded.pid, seen_at = clock_timestamp()`;

const hubsText = `SELECT id, name, url, version, round(extract(epoch FROM started_at) * 1000) AS "startedAt",
    pid IN ${leadHolders} AS "isLeader"
  FROM hubs WHERE pid IN ${seatHolders} ORDER BY started_at, id`;

/** Hubs that serve now, beside this one; and when any hub, including stopped ones, was last seen. */
const lastSeenText = `SELECT count(*) FILTER (WHERE id <> $1::uuid AND pid IN ${seatHolders}) AS others,
    extract(epoch FROM clock_timestamp() - max(seen_at)) * 1000 AS "agoMs" FROM hubs`;

function otherVersion(): WritError {
  return new WritError(
    "CONFIG_INVALID",
    "WRIT_DATABASE_URL: a hub of an earlier version or a migration uses this database, and allows no other; wait for it, or stop it first",
  );
}
