// Stores the events of a job and has them sent. Why: ADR 0050.
import { invalidArgument, WritError } from "../core/errors.ts";
import { type JsonValue, jsonExceeds } from "../core/text/json-value.ts";
import { MqttFailure } from "../runtime/mqtt/connect-mqtt.ts";
import { buildMessage, type JobMessage } from "../signing/job-message.ts";
import { parseJson } from "../signing/parse-json.ts";
import type { Connection } from "../store/sqlite/database/connection.ts";
import { brokerOptions } from "./broker.ts";
import { type StatusChange, writeStatusChanges } from "./history.ts";
import { inTurn } from "./in-turn.ts";
import { findRow, isoTime, recordOf, refuseUnknown } from "./job-row.ts";
import { takeSeq } from "./next-seq.ts";
import { getRow } from "./read-jobs.ts";
import { changeRegistry } from "./registry-database.ts";
import type { RegistryPlace } from "./registry-place.ts";
import { sendWaiting } from "./send-waiting.ts";
import { moveTo } from "./set-status.ts";

export type Publication = {
  /** What happened, such as `step` or `tests_passed`. */
  event: string;
  /** Also sets the status of the job. */
  status?: string | undefined;
  /** Anything that is JSON, at most 64 KiB. */
  data?: unknown;
};

export type Published = {
  message: JobMessage;
  /** Null if the broker has it; otherwise why it waits in the registry. */
  waits: MqttFailure | null;
};

const dataBytesMax = 64 * 1024;
/** A broker that is away for long must not fill the disk. */
const waitingMax = 10_000;

/**
 * Tells the broker of a job what happened. The event is stored first, with the next number of the job and its new
 * status, so it is never lost: while the broker is away it waits, and goes out in order with the next one.
 */
export async function publish(place: RegistryPlace, jobId: string, input: Publication): Promise<Published> {
  const data = checkEvent(input);
  // Before anything is changed: without a broker there is nothing to do. A password may still come.
  await brokerOptions(recordOf(await getRow(place, jobId)).broker, place.env).catch(unlessFailure);
  const text = await inTurn(place, async (nowMs) => {
    const stored = await changeRegistry(
      place,
      () => refuseUnknown(jobId),
      (sql) => storeEvent(sql, { ...input, jobId, data, nowMs }),
    );
    await writeStatusChanges(place, stored.changes);
    return stored.text;
  });
  return { message: JSON.parse(text) as JobMessage, waits: await sendWaiting(place, jobId) };
}

function unlessFailure(error: unknown): void {
  if (!(error instanceof MqttFailure)) throw error;
}

function checkEvent({ event, data = null }: Publication): JsonValue {
  if (!/^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/.test(event)) {
    const message = "use 1 to 100 letters, digits, . _ : or -, such as tests_passed";
    throw invalidArgument({ path: "event", message });
  }
  if (jsonExceeds(data, dataBytesMax))
    throw invalidArgument({ path: "data", message: `at most ${dataBytesMax} bytes fit` });
  return parseJson(JSON.stringify(data) ?? "null");
}

type NewEvent = { jobId: string; event: string; status?: string | undefined; data: JsonValue; nowMs: number };

function storeEvent(
  sql: Connection,
  { jobId, event, status, data, nowMs }: NewEvent,
): { text: string; changes: StatusChange[] } {
  const { waiting } = sql.first<{ waiting: number }>(
    "SELECT count(*) AS waiting FROM outbox WHERE job_id = ?",
    jobId,
  )!;
  if (waiting >= waitingMax)
    throw new WritError("STATE_CONFLICT", `${waiting} events of job ${jobId} wait for the broker already`);
  const { changes } = status === undefined ? { changes: [] } : moveTo(sql, { jobId, status, nowMs });
  const seq = takeSeq(sql, { jobId, nowMs });
  const row = findRow(sql, jobId);
  const fields = { job_id: jobId, seq, event, status: row.status, ts: isoTime(nowMs), data };
  const text = buildMessage(fields, row.auth_token);
  sql.run("INSERT INTO outbox (job_id, seq, message) VALUES (?, ?, ?)", jobId, seq, text);
  return { text, changes };
}
