import type { DatabaseInUse } from "../database/database-in-use.ts";
import {
  type AppendedName,
  type AttemptKey,
  chunksPerRead,
  type GoneOptions,
  type NewSegment,
  type OutputBounds,
  type OutputPart,
  type OutputTable,
  outputBounds,
  type Segment,
  type SegmentPlace,
} from "../output-table.ts";
import { Connection, type ConnectionSettings } from "./connection/connection.ts";
import { blame, storeUnavailable } from "./connection/postgres-error.ts";
import { ServerPulse } from "./connection/server-pulse.ts";
import { OutputNotices } from "./hubs/output-notices.ts";
import { Readers } from "./reads/readers.ts";
import { describeError } from "./transaction/answers.ts";

type TableSettings = { url: string; inUse?: DatabaseInUse | undefined; bounds?: OutputBounds };

/**
 * Opens the table of outputs in a database that a store has opened before. It has connections of its own, so that large
 * transfers do not hold up what is small. Why: ADR 0085.
 */
export async function openOutputTable({ url, inUse, bounds }: TableSettings): Promise<OutputTable> {
  const own = { url, ...(inUse && { inUse }) };
  const settings = { ...own, isHot: true };
  const pulse = new ServerPulse(url);
  const first = await Connection.open({ ...settings, silence: pulse.silence });
  const connections = new Readers(settings, pulse, first);
  return new PostgresOutputTable(own, { connections, pulse }, bounds ?? outputBounds);
}

class PostgresOutputTable implements OutputTable {
  readonly #connections: Readers;
  readonly #pulse: ServerPulse;
  readonly #bounds: OutputBounds;
  readonly #notices: OutputNotices;

  constructor(
    settings: ConnectionSettings,
    { connections, pulse }: { connections: Readers; pulse: ServerPulse },
    bounds: OutputBounds,
  ) {
    this.#connections = connections;
    this.#pulse = pulse;
    this.#bounds = bounds;
    this.#notices = new OutputNotices(settings, (channel, text) =>
      connections.use((sql) => sql.all("SELECT pg_notify($1, $2)", channel, text)),
    );
  }

  async append(
    { jobId, attempt, stream }: AppendedName,
    { offset, bytes }: { offset: number; bytes: Uint8Array },
  ): Promise<{ isAppended: boolean; size: number }> {
    // Whatever is not an offset is not the size either.
    const place = Number.isSafeInteger(offset) ? offset : -1;
    // Not repeated when the connection is lost: it may have happened. The sender asks again, and is told the size.
    const row = await this.#once((sql) =>
      sql.first<{ isAppended: boolean; size: number }>(
        `SELECT is_appended AS "isAppended", size FROM append_output($1, $2, $3, $4, $5, $6)`,
        jobId,
        attempt,
        stream,
        place,
        bytes,
        this.#limits(),
      ),
    );
    if (row!.isAppended && bytes.length > 0) this.#notices.changed(jobId);
    return row!;
  }

  async read(
    { jobId, attempt, stream }: AppendedName,
    { start, end }: { start: number; end: number },
  ): Promise<OutputPart | null> {
    const rows = await this.#connections
      .read((sql) =>
        sql.all<PartRow>(readText, jobId, attempt, stream, start, Math.min(end, Number.MAX_SAFE_INTEGER)),
      )
      .catch(asSeen);
    return partOf(rows);
  }

  sizes(attempts: AttemptKey[]): Promise<(AppendedName & { size: number })[]> {
    return this.#read((sql) =>
      sql.all(
        `SELECT o.job_id AS "jobId", o.attempt, o.stream, o.size
          FROM unnest($1::text[], $2::bigint[]) AS a (job_id, attempt) JOIN outputs o USING (job_id, attempt)`,
        attempts.map(({ jobId }) => jobId),
        attempts.map(({ attempt }) => attempt),
      ),
    );
  }

  async remove(jobId: string, attempts: readonly number[] | null): Promise<void> {
    await this.#read((sql) => sql.run("SELECT remove_outputs($1, $2)", jobId, attempts));
    this.#notices.changed(jobId);
  }

  async listJobs({ after, limit }: { after: string; limit: number }): Promise<string[]> {
    const rows = await this.#read((sql) =>
      sql.all<{ id: string }>(
        "SELECT DISTINCT job_id AS id FROM outputs WHERE job_id > $1 ORDER BY job_id LIMIT $2",
        after,
        limit,
      ),
    );
    return rows.map(({ id }) => id);
  }

  async listAttempts(jobId: string): Promise<number[]> {
    const rows = await this.#read((sql) =>
      sql.all<{ attempt: number }>("SELECT DISTINCT attempt FROM outputs WHERE job_id = $1", jobId),
    );
    return rows.map(({ attempt }) => attempt);
  }

  claimSegment({ keptIn, idleMs }: { keptIn: SegmentPlace; idleMs: number }): Promise<NewSegment | null> {
    return this.#once((sql) =>
      sql.first<NewSegment>(
        `SELECT id, output_id AS "outputId", start, size, job_id AS "jobId", attempt, stream
          FROM claim_output_segment($1, $2, $3)`,
        keptIn,
        idleMs,
        this.#bounds.segment,
      ),
    );
  }

  async keepSegment({ id, outputId }: NewSegment): Promise<boolean> {
    const row = await this.#once((sql) =>
      sql.first<{ kept: boolean }>(
        "SELECT keep_output_segment($1, $2, $3) AS kept",
        id,
        outputId,
        this.#limits(),
      ),
    );
    return row!.kept;
  }

  async dropSegment(id: string): Promise<void> {
    await this.#read((sql) =>
      sql.run("UPDATE output_segments SET state = 'gone' WHERE id = $1 AND state = 'arriving'", id),
    );
  }

  async listGone({ keptIn, staleMs, limit }: GoneOptions): Promise<Pick<Segment, "id" | "keptIn">[]> {
    await this.#read((sql) =>
      sql.run(
        `UPDATE output_segments SET state = 'gone'
          WHERE state <> 'kept' AND state = 'arriving' AND made_at < now() - $1::bigint * interval '1 millisecond'`,
        staleMs,
      ),
    );
    return this.#read((sql) =>
      sql.all(
        `SELECT id, kept_in AS "keptIn" FROM output_segments
          WHERE state <> 'kept' AND state = 'gone' AND kept_in = ANY ($1) ORDER BY id LIMIT $2`,
        keptIn,
        limit,
      ),
    );
  }

  async forgetSegments(ids: string[]): Promise<void> {
    await this.#read((sql) =>
      sql.run("DELETE FROM output_segments WHERE id = ANY ($1::uuid[]) AND state = 'gone'", ids),
    );
  }

  async markFolder(mark: string): Promise<string> {
    const row = await this.#read(async (sql) => {
      await sql.run("INSERT INTO output_folder (one, mark) VALUES (1, $1) ON CONFLICT DO NOTHING", mark);
      return sql.first<{ mark: string }>("SELECT mark FROM output_folder");
    });
    return row!.mark;
  }

  onChange(listener: (jobEnd: string | null) => void): () => void {
    return this.#notices.onHeard(listener);
  }

  async close(): Promise<void> {
    await this.#notices.close();
    await this.#connections.close();
    this.#pulse.close();
  }

  #limits(): number[] {
    const { chunkMin, chunkMax, tailMax, segment } = this.#bounds;
    return [chunkMin, chunkMax, tailMax, segment];
  }

  /** For what may be done twice: it is repeated if the connection was lost. */
  #read<T>(use: (sql: Connection) => Promise<T>): Promise<T> {
    return this.#connections.read(use).catch(asSeen);
  }

  #once<T>(use: (sql: Connection) => Promise<T>): Promise<T> {
    return this.#connections.use(use).catch(asSeen);
  }
}

/**
 * One statement, so that everything in it is of one moment: a byte is either in a chunk or in a segment, while others move
 * it. A chunk that begins before the range, or ends after it, is cut in the database.
 */
const readText = `SELECT o.id AS "outputId", o.size, s.id AS "segmentId", s.kept_in AS "keptIn", s.start AS "segmentStart",
    s.size AS "segmentSize", c.bytes
  FROM outputs o
  LEFT JOIN LATERAL (SELECT id, kept_in, start, size FROM output_segments
    WHERE output_id = o.id AND state = 'kept' AND start <= $4::bigint AND $4::bigint < o.in_segments
    ORDER BY start DESC LIMIT 1) s ON true
  LEFT JOIN LATERAL (SELECT start, substring(bytes FROM (greatest($4::bigint - start, 0) + 1)::int
        FOR least($5::bigint - greatest($4::bigint, start), 1073741823)::int) AS bytes
      FROM output_chunks
    WHERE output_id = o.id AND $4::bigint BETWEEN o.in_segments AND o.size - 1 AND start < $5::bigint
      AND start >= (SELECT max(start) FROM output_chunks WHERE output_id = o.id AND start <= $4::bigint)
    ORDER BY start LIMIT ${chunksPerRead}) c ON true
  WHERE o.job_id = $1 AND o.attempt = $2 AND o.stream = $3 ORDER BY c.start`;

type PartRow = {
  outputId: number;
  size: number;
  segmentId: string | null;
  keptIn: SegmentPlace;
  segmentStart: number;
  segmentSize: number;
  bytes: Buffer | null;
};

function partOf(rows: PartRow[]): OutputPart | null {
  const [first] = rows;
  if (first === undefined) return null;
  const { outputId, size, segmentId, keptIn, segmentStart, segmentSize } = first;
  const segment =
    segmentId === null ? null : { id: segmentId, keptIn, start: segmentStart, size: segmentSize };
  return { outputId, size, segment, chunks: rows.flatMap(({ bytes }) => (bytes === null ? [] : [bytes])) };
}

function asSeen(error: unknown): never {
  throw blame(error) === "connection" ? storeUnavailable(error) : describeError(error);
}
