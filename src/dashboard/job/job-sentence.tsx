import type { ReactNode } from "react";
import type { EventView, JobView } from "../../contract/shapes/view-shapes.ts";
import type { WhyView } from "../../contract/why-view.ts";
import { deadLetterTime } from "../parts/dead-letter-time.ts";
import { durationText, momentText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { lastLineOf } from "../parts/last-line.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { colourOf, StateIcon, shownState } from "../parts/state.tsx";
import { cancelledBy } from "./cancelled-by.ts";
import { submittedTimeoutSec } from "./time-limit.ts";

/** `quote` is the last line that the job wrote. */
type Sentence = { lead: ReactNode; rest?: ReactNode; quote?: string | undefined; aside?: ReactNode };

const ordinals = [
  "zeroth",
  "first",
  "second",
  "third",
  "fourth",
  "fifth",
  "sixth",
  "seventh",
  "eighth",
  "ninth",
];
const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const times = ["never", "once", "twice", "three times", "four times", "five times"];

/** Where the job is, why, and what comes next. */
export function JobSentence({
  job,
  why,
  events,
  now,
  children,
}: {
  job: JobView;
  why: WhyView | undefined;
  events: readonly EventView[];
  now: number;
  children?: ReactNode;
}) {
  const state = shownState(job);
  const { lead, rest, quote, aside } = sentenceOf(job, { why, events, now });
  return (
    <div className="say" data-state={colourOf(state)}>
      <StateIcon state={state} />
      <div className="grow">
        <b>{shown(lead)}</b> {shown(rest)}{" "}
        {quote === undefined ? null : (
          <>
            Its last line: <q className="mono">{shown(quote)}</q>{" "}
          </>
        )}
        {aside === undefined ? null : <span className="dim">{shown(aside)}</span>}
      </div>
      {children}
      <span className="mono not-phone code-line">{codesOf(job)}</span>
      {job.damaged === undefined ? null : (
        <span className="state" data-state="failed">
          <Icon name="warning" />
          damaged: {job.damaged.join(", ")}
        </span>
      )}
    </div>
  );
}

/** Jobs and workers write reasons, so a reason is shown as plain text. */
function shown(part: ReactNode): ReactNode {
  return typeof part === "string" ? <PlainText text={part} /> : part;
}

type Known = { why: WhyView | undefined; events: readonly EventView[]; now: number };

function sentenceOf(job: JobView, { why, events, now }: Known): Sentence {
  const cancelled = cancelledBy(job, events);
  if (cancelled !== null && job.status !== "pending") return cancelledSentence(job, cancelled, now);
  if (job.status === "running") return runningSentence(job, now);
  if (job.status === "assigned") {
    return {
      lead: `${job.worker_id} has it and is about to start it.`,
      aside: ` It is the ${ordinal(job.attempts)} attempt of ${job.max_attempts}.`,
    };
  }
  if (job.status === "pending") return pendingSentence(job, why, now);
  if (job.status === "completed") return completedSentence(job);
  return failedSentence(job);
}

function runningSentence(job: JobView, now: number): Sentence {
  const ran = job.started_at === null ? "" : ` for ${durationText(now - job.started_at)}`;
  const done = job.progress === null ? "" : `, ${Math.round(job.progress)} % done`;
  const last = job.fail_history.at(-1);
  const before = last === undefined ? "" : `The ${ordinal(job.attempts - 1)} ended: ${last.reason}. `;
  const limit =
    job.started_at === null || job.timeout_sec === 0
      ? "It has no time limit."
      : `It ends by ${momentText(job.started_at + job.max_runtime_ms)} at the latest.`;
  return {
    lead: `Runs on ${job.worker_id}${ran},`,
    rest: `${ordinal(job.attempts)} attempt of ${job.max_attempts}${done}.`,
    aside: `${before}${limit}`,
  };
}

/** Says who cancelled it and when, and how its worker ended it. */
function cancelledSentence(
  job: JobView,
  { who, at }: { who: string | null; at: number },
  now: number,
): Sentence {
  const by = who === null ? "" : ` by ${who}`;
  if (job.completed_at === null) {
    return {
      lead: `${job.worker_id} is stopping it.`,
      rest: `It was cancelled${by} ${durationText(now - at)} ago.`,
    };
  }
  const reason = sentenceCase(job.fail_history.at(-1)?.reason ?? "cancelled");
  const stopped = `${job.worker_id} stopped it ${durationText(job.completed_at - at)} later.`;
  return {
    lead: `Cancelled${by} at ${momentText(at)}.`,
    rest: [job.cancel_requested_at === null ? "" : stopped, reason === "Cancelled." ? "" : reason]
      .filter(Boolean)
      .join(" "),
    aside: job.cancel_requested_at === null && job.attempt === 0 ? "It never ran." : "",
  };
}

function pendingSentence(job: JobView, why: WhyView | undefined, now: number): Sentence {
  const [first, ...others] = why?.reasons ?? [];
  const [lead, ...tail] = (first?.text ?? why?.summary ?? "Waits for a worker.").split(/(?<=[.;])\s/);
  const rest = [...tail, ...others.map(({ text }) => text)].join(" ");
  return { lead: withCode(lead ?? ""), rest: withCode(rest), aside: waitText(job, why, now) };
}

/** How long it has waited for this attempt. A job does not wait before it is due. */
function waitText(job: JobView, why: WhyView | undefined, now: number): string {
  const submitted = `It was submitted ${durationText(now - job.created_at)} ago.`;
  if (job.run_at > now) return submitted;
  const position = why?.position ?? null;
  const place = position === null ? "" : `, as number ${position} of its queue`;
  const waited = `It has waited for ${durationText(now - Math.max(job.created_at, job.run_at))}${place}.`;
  return job.run_at > job.created_at ? `${waited} ${submitted}` : waited;
}

/** The hub's text has commands in backticks, and times in ISO format. */
function withCode(text: string): ReactNode {
  return text
    .replaceAll(isoTime, (time) => momentText(Date.parse(time)))
    .split("`")
    .map((part, index) =>
      index % 2 === 0 ? (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no identity but their index.
        <PlainText text={part} key={index} />
      ) : (
        <code className="mono" key={part}>
          <PlainText text={part} />
        </code>
      ),
    );
}

function completedSentence(job: JobView): Sentence {
  const ms = job.execution_time_ms;
  const tries = job.attempts > 1 ? ` It needed ${plural(job.attempts, "attempt")}.` : "";
  return {
    lead: "Completed.",
    rest: ms === null ? "" : `It ran ${durationText(ms)} on ${job.worker_id}.`,
    aside: `${job.exit_code === null ? "" : `Exit code ${job.exit_code}.`}${tries}`,
  };
}

function failedSentence(job: JobView): Sentence {
  const last = job.fail_history.at(-1);
  const reason = last?.reason ?? job.fail_reason ?? "no reason was given";
  const isSame =
    job.fail_history.length > 1 &&
    job.fail_history.every(({ detail, code }) => (detail ?? code) === (last?.detail ?? last?.code));
  const count = isSame ? (times[job.fail_history.length] ?? `${job.fail_history.length} times`) : null;
  const lead = leads[job.fail_detail ?? ""] ?? leads[job.fail_code ?? ""] ?? "Failed";
  return {
    lead: count === null ? `${lead}.` : `${lead}, ${count}.`,
    rest: sentenceCase(reason),
    quote: lastLineOf(last),
    aside: adviceFor(job),
  };
}

/** What happened, in plain words, for each code. */
const leads: Record<string, string> = {
  OOM_KILLED: "Ran out of memory",
  TIMEOUT: "Ran longer than it may",
  IDLE_TIMEOUT: "Was silent for too long",
  JOB_POLL_TIMEOUT: "Its worker did not answer in time",
  WORKER_EXIT_ERROR: "Its command ended with an error",
  WORKER_DISCONNECTED: "Its worker went away",
  SIGNALED: "Was killed by a signal",
  SPAWN_FAILED: "Could not be started",
  OUTPUT_LIMIT: "Wrote more than it may",
  EXPIRED: "Took longer than it may",
  INVALID_JOB: "Was refused",
  NO_SUCH_SECRET: "Names a secret that its worker does not have",
  SECURITY_VIOLATION: "Was stopped for security",
  INVALID_SIGNATURE: "Its signature did not verify",
  PATH_TRAVERSAL_ATTEMPT: "Tried to leave its paths",
  VALIDATION_FAILED: "Did not pass its check",
  BUDGET_EXCEEDED: "Used more than its budget",
};

function adviceFor(job: JobView): string {
  if (job.fail_detail === "OOM_KILLED") {
    const limit = job.limits?.memory === undefined ? "" : `It may use ${job.limits.memory} of memory. `;
    return `${limit}A retry runs the same signed document and meets the same limit; a copy with more memory does not.`;
  }
  if (job.fail_code === "TIMEOUT") {
    const submitted = submittedTimeoutSec(job);
    const doubled =
      job.timeout_sec === submitted
        ? ""
        : `It was submitted with ${durationText(submitted * 1000)}; its last attempt had ${durationText(job.timeout_sec * 1000)}. `;
    return `${doubled}A retry begins again with ${durationText(submitted * 1000)}; a copy can have more.`;
  }
  return job.status === "quarantined"
    ? `It is a dead letter, ${deadLetterTime}; it can be retried until then.`
    : "";
}

function codesOf(job: JobView): string {
  if (job.status !== "failed" && job.status !== "quarantined") return "";
  const exit = job.exit_code === null ? [] : [`exit ${job.exit_code}`];
  return [job.fail_code, job.fail_detail, ...exit].filter((part) => part !== null).join(" · ");
}

function ordinal(count: number): string {
  return ordinals[count] ?? `${count}th`;
}

function sentenceCase(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
