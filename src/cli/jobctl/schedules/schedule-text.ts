import type { Schedule } from "../../../client/index.ts";
import { formatDuration } from "../../terminal/duration.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** `30 2 * * * Europe/Berlin`, or `every 15m`. */
export function describeTiming({ cron, every_sec, time_zone }: Schedule): string {
  if (every_sec !== null) return `every ${formatDuration(every_sec * 1_000)}`;
  return cron === null ? "-" : `${cron} ${time_zone}`;
}

/** Everything that a person asks about a schedule. */
export function scheduleText(schedule: Schedule): string {
  const {
    name,
    state,
    user_id,
    overlap,
    catch_up,
    catch_up_sec,
    waiting,
    runs,
    blocked,
    next,
    past = [],
  } = schedule;
  const lines = [
    `name:      ${name}`,
    `state:     ${state}${blocked === null ? "" : `: ${blocked.reason}`}`,
    `user:      ${user_id}`,
    `when:      ${describeTiming(schedule)}`,
    `overlap:   ${overlap}`,
    `catch up:  ${catch_up}, within ${formatDuration(catch_up_sec * 1_000)}`,
    `jobs:      ${runs} made, ${waiting} waiting`,
    ...next.map((time, index) => `${index === 0 ? "next:      " : "           "}${timeText(time)}`),
    ...past.map(
      ({ occurrence, outcome, job_id }, index) =>
        `${index === 0 ? "past:      " : "           "}${occurrence} ${job_id === null ? outcome : job_id}`,
    ),
  ];
  return lines.map((line) => `${neutraliseLine(line)}\n`).join("");
}
