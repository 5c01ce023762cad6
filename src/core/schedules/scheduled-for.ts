/**
 * The time for which a schedule has made a job, as ISO text; undefined for other jobs. The hub writes it into the document, so it
 * is signed like everything there.
 */
export function scheduledFor(document: {
  metadata?: Record<string, unknown> | undefined;
}): string | undefined {
  const schedule = document.metadata?.["schedule"];
  const time = isObject(schedule) ? schedule["scheduled_for"] : undefined;
  return typeof time === "string" && isoTime.test(time) ? time : undefined;
}

const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
