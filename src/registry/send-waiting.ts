import { join } from "node:path";
import { systemClock } from "../runtime/clock/clock.ts";
import { lockFile } from "../runtime/files/file-lock.ts";
import { connectMqtt, MqttFailure, type MqttOptions } from "../runtime/mqtt/connect-mqtt.ts";
import { brokerOptions } from "./broker.ts";
import { writeMessages } from "./history.ts";
import { inTurn } from "./in-turn.ts";
import { type JobRow, recordOf } from "./job-row.ts";
import { getRow } from "./read-jobs.ts";
import { changeRegistry, readRegistry } from "./registry-database.ts";
import { findRegistryDir, type RegistryPlace } from "./registry-place.ts";

const pageEvents = 100;
/** Another process that is sending needs as long as a broker may take. */
const lockMsMax = 45_000;

/**
 * Sends the events of a job that wait, in order. Returns null when none is left, or why some still wait. One process of
 * a registry sends at a time; otherwise two could send the events of one job past each other. Why: ADR 0050, ADR 0098.
 */
export async function sendWaiting(place: RegistryPlace, jobId: string): Promise<MqttFailure | null> {
  const job = await getRow(place, jobId);
  const options = await brokerOptions(recordOf(job).broker, place.env).catch(asFailure);
  if (options instanceof MqttFailure) return options;
  const lockPath = join((await findRegistryDir(place, false))!, "send.lock");
  const lock = await lockFile(lockPath, { clock: place.clock ?? systemClock, waitMs: lockMsMax });
  if (lock === null) return new MqttFailure("away", "another process is sending to a broker that is slow");
  try {
    await sendAll(place, job, options);
    return null;
  } catch (error) {
    return asFailure(error);
  } finally {
    lock.release();
  }
}

function asFailure(error: unknown): MqttFailure {
  if (error instanceof MqttFailure) return error;
  throw error;
}

type UnsentMessage = { seq: number; message: string };

async function sendAll(place: RegistryPlace, job: JobRow, options: MqttOptions): Promise<void> {
  let page = await readPage(place, job);
  if (page.length === 0) return;
  const connection = await connectMqtt(options, new AbortController().signal);
  try {
    while (page.length > 0) {
      for (const { message } of page) {
        await connection.publish({ topic: `${job.topic_prefix}/events`, payload: message, retain: false });
      }
      const { message } = page.at(-1)!;
      await connection.publish({ topic: `${job.topic_prefix}/status`, payload: message, retain: true });
      await recordSent(place, job, page);
      page = await readPage(place, job);
    }
  } finally {
    await connection.close();
  }
}

/** The oldest events of a job that wait for the broker, after this number. */
export function readPage(
  place: RegistryPlace,
  { job_id: jobId }: JobRow,
  afterSeq = 0,
): Promise<UnsentMessage[]> {
  return readRegistry(
    place,
    () => [],
    (sql) =>
      sql.all<UnsentMessage>(
        "SELECT seq, message FROM outbox WHERE job_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        jobId,
        afterSeq,
        pageEvents,
      ),
  );
}

/** The number of the last event of a job that the broker has; none before it waits. */
export async function lastSent(
  place: RegistryPlace,
  { job_id: jobId, last_seq: lastSeq }: JobRow,
): Promise<number> {
  const first = await readRegistry(
    place,
    () => null,
    (sql) =>
      sql.first<{ seq: number | null }>("SELECT min(seq) AS seq FROM outbox WHERE job_id = ?", jobId)!.seq,
  );
  return first === null ? lastSeq : first - 1;
}

/** Called when the broker has confirmed them: not before that does the history call them published. */
function recordSent(place: RegistryPlace, job: JobRow, sent: readonly UnsentMessage[]): Promise<void> {
  return inTurn(place, async (atMs) => {
    const payloads = sent.map(({ message }) => JSON.parse(message));
    await writeMessages(place, job.job_id, { event: "published", payloads, atMs });
    // Last, so that a kill loses no event: the next process sends them again, and readers drop what they have.
    await forget(place, job, sent.at(-1)!.seq);
  });
}

async function forget(place: RegistryPlace, { job_id: jobId }: JobRow, throughSeq: number): Promise<void> {
  await changeRegistry(
    place,
    () => 0,
    (sql) => sql.run("DELETE FROM outbox WHERE job_id = ? AND seq <= ?", jobId, throughSeq),
  );
}
