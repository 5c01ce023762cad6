import type { JobState } from "../../core/job.ts";
import type { CliContext } from "../context.ts";
import { paintFor } from "../terminal.ts";

const colours = {
  pending: "dim",
  assigned: "cyan",
  running: "cyan",
  completed: "green",
  failed: "red",
  quarantined: "yellow",
} as const satisfies Record<JobState, string>;

/** Paints the state of a job, as far as standard output shows colours. */
export function statusPaint(context: CliContext): (text: string, job: { status: JobState }) => string {
  const paint = paintFor(context.stdout, context.env);
  return (text, { status }) => paint[colours[status]](text);
}
