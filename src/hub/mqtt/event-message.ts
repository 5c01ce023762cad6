import { WritError } from "../../core/errors.ts";
import type { LoggedEvent } from "../../core/events.ts";
import type { JobRecord, JobState } from "../../core/jobs/job.ts";
import { type RegistryState, registryState } from "../../core/jobs/state-names.ts";
import type { JsonObject } from "../../core/text/json-value.ts";
import type { MqttMessage } from "../../runtime/mqtt/connect-mqtt.ts";
import { buildMessage } from "../../signing/job-message.ts";
import type { Store } from "../../store/store.ts";

/** An event of a job, with its number among the events of that job. */
export type NumberedEvent = LoggedEvent & { jobId: string; jobSeq: number; tenantId: string };

export function isNumbered(event: LoggedEvent): event is NumberedEvent {
  return event.jobId !== null && event.jobSeq !== null && event.tenantId !== null;
}

type Reads = Pick<Store, "getJob">;

/** The message for an event. Why: ADR 0050. */
export async function eventMessage(
  store: Reads,
  event: NumberedEvent,
  key: string | null,
): Promise<MqttMessage> {
  const fields = {
    job_id: event.jobId,
    seq: event.jobSeq,
    event: event.event,
    status: await statusAfter(store, event),
    ts: new Date(event.ts).toISOString(),
  };
  const payload = withData(event.details as JsonObject, (data) => buildMessage({ ...fields, data }, key));
  return { topic: `${topicOf(event)}/events`, payload, retain: false };
}

/** The retained message with a job's status. When the job is removed, an empty message removes it from the broker. */
export function statusMessage(event: NumberedEvent, { payload }: MqttMessage): MqttMessage {
  const isOver = event.event === "JOB_REMOVED";
  return { topic: `${topicOf(event)}/status`, payload: isOver ? "" : payload, retain: true };
}

/** Ids of tenants and jobs contain no slash or wildcard, so no tenant can reach a topic of another. */
function topicOf({ tenantId, jobId }: NumberedEvent): string {
  return `writ/${tenantId}/jobs/${jobId}`;
}

/** The job's state after an event; most events contain it. */
async function statusAfter(store: Reads, { jobId, details }: NumberedEvent): Promise<RegistryState | null> {
  const { status, fail_code: failCode } = details as { status?: JobState; fail_code?: JobRecord["failCode"] };
  if (status !== undefined && (status !== "failed" || failCode !== undefined))
    return registryState({ status, failCode: failCode ?? null });
  const stored = await store.getJob({ jobId });
  if (stored !== null) return registryState(stored.job);
  return status === undefined ? null : registryState({ status, failCode: null });
}

/** Old records may contain numbers without a canonical form; then the event is sent without its data. */
function withData(data: JsonObject, build: (data: JsonObject | null) => string): string {
  try {
    return build(data);
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    return build(null);
  }
}
