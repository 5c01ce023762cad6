import { useRef } from "react";
import { commandOf } from "../../contract/kinds.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { isEnded } from "../../core/jobs/job.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { durationText, shortId } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { copyText } from "../parts/notices.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { useKeys } from "../shell/keys.ts";
import { showToast } from "../shell/toasts.tsx";
import { joinWords, quoteWord } from "../submit/shell-words.ts";
import { submittedTimeoutSec } from "./time-limit.ts";

type Props = { job: JobView; mayAct: boolean; onDone: () => void };

/** Only acts that are possible: a job that has ended cannot be cancelled, one that runs cannot be retried. */
export function JobActs({ job, mayAct, onDone }: Props) {
  const canCancel = mayAct && !isEnded(job.status) && job.cancel_requested_at === null;
  const canRetry = mayAct && (job.status === "failed" || job.status === "quarantined");
  const cancel = () => askToCancel(job, onDone);
  const retry = () => askToRetry(job, onDone);
  const isPending = mayAct && job.status === "pending";
  const isHeld = (job.held_at ?? null) !== null;
  useKeys({ c: canCancel ? cancel : undefined, r: canRetry ? retry : undefined });
  return (
    <>
      {mayAct && isEnded(job.status) ? (
        <a className={repeatsInVain(job) ? "button main" : "button"} href={`/submit?from=${job.id}`}>
          Submit a copy…
        </a>
      ) : null}
      {canCancel ? (
        <button type="button" className="button danger" onClick={cancel}>
          <Icon name="stop" />
          Cancel
          <kbd className="not-phone">C</kbd>
        </button>
      ) : null}
      {canRetry ? (
        <button type="button" className="button" onClick={retry}>
          <Icon name="retry" />
          Retry
          <kbd className="not-phone">R</kbd>
        </button>
      ) : null}
      {isPending ? (
        <button type="button" className="button" onClick={() => void setHeld(job, !isHeld, onDone)}>
          <Icon name={isHeld ? "active" : "pause"} />
          {isHeld ? "Resume" : "Hold"}
        </button>
      ) : null}
      <MoreActs job={job} />
    </>
  );
}

/** After these failures the same document would fail again, so the button for a copy is the main one. */
function repeatsInVain({ fail_detail, fail_code }: JobView): boolean {
  return fail_detail === "OOM_KILLED" || fail_code === "TIMEOUT" || fail_code === "INVALID_JOB";
}

function MoreActs({ job }: { job: JobView }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const copy = (text: string, what: string) => {
    menu.current?.removeAttribute("open");
    void copyText(text, what);
  };
  return (
    <details
      className="menu"
      ref={menu}
      onBlur={(event) => closeOutside(event.currentTarget, event.relatedTarget)}
    >
      <summary className="icon-button" aria-label="More actions">
        <Icon name="more" />
      </summary>
      <div className="menu-list">
        <button type="button" onClick={() => copy(job.id, "Id")}>
          Copy the id
        </button>
        <button type="button" onClick={() => copy(asJobctl(job), "jobctl command")}>
          Copy as jobctl
        </button>
        <button type="button" onClick={() => copy(asCurl(job), "curl command")}>
          Copy as curl
        </button>
        <a href={`/api/v1/jobs/${job.id}/receipt`} download={`${job.id}.receipt.json`}>
          Download the receipt
        </a>
      </div>
    </details>
  );
}

function closeOutside(menu: HTMLDetailsElement, next: EventTarget | null): void {
  if (!(next instanceof Node && menu.contains(next))) menu.removeAttribute("open");
}

function askToCancel(job: JobView, onDone: () => void): void {
  const isHeld = job.status !== "pending";
  askFirst({
    title: "Cancel this job?",
    body: (
      <p>
        {isHeld
          ? `${job.worker_id} is told at once: the process has 5 s to end by itself, then its whole tree is killed. What it has written so far is kept.`
          : "It has not started, and will not start."}
      </p>
    ),
    acts: [
      {
        label: "Cancel the job",
        tone: "alarm",
        run: async () => {
          await callHub(pageRoutes.cancelJob, { params: { id: job.id } });
          showToast({
            icon: "stop",
            text: `Cancelling ${job.type}`,
            note: isHeld ? `${job.worker_id} has been told` : shortId(job.id),
          });
          onDone();
        },
      },
    ],
  });
}

/** Each of the two undoes the other, so it happens at once. */
async function setHeld(job: JobView, isHeld: boolean, onDone: () => void): Promise<void> {
  const route = isHeld ? pageRoutes.holdJob : pageRoutes.resumeJob;
  try {
    await callHub(route, { params: { id: job.id } });
    onDone();
    showToast({
      icon: isHeld ? "pause" : "active",
      text: isHeld ? `${job.type} is held` : `${job.type} is in the queue again`,
      note: isHeld ? "No worker is given it until it is resumed." : undefined,
    });
  } catch (error) {
    showToast({ icon: "warning", text: `${job.type} was not changed`, note: errorText(error) });
  }
}

function askToRetry(job: JobView, onDone: () => void): void {
  const last = job.fail_history.at(-1);
  const timeoutSec = submittedTimeoutSec(job);
  askFirst({
    title: "Retry with the same limits?",
    body: (
      <p>
        The signed document cannot change, so the next attempt runs the same command with the same limits
        {timeoutSec === 0 ? "" : ` and ${durationText(timeoutSec * 1000)} of time`}.
        {last === undefined ? null : (
          <>
            {" "}
            The last one ended with: <PlainText text={last.reason} />.
          </>
        )}
      </p>
    ),
    acts: [
      {
        label: "Retry",
        tone: "main",
        run: async () => {
          await callHub(pageRoutes.retryJob, { params: { id: job.id } });
          showToast({ icon: "retry", text: "Back in the queue", note: "It starts when a slot is free." });
          onDone();
        },
      },
    ],
  });
}

/** The command that submits the same job again. */
function asJobctl(job: JobView): string {
  const command = job.run === null ? null : commandOf(job.run);
  const options = [
    ...(job.priority === 5 ? [] : ["--priority", String(job.priority)]),
    ...(job.max_attempts === 3 ? [] : ["--attempts", String(job.max_attempts)]),
    ...(submittedTimeoutSec(job) === 0 ? [] : ["--timeout", `${submittedTimeoutSec(job)}s`]),
    ...(job.requires?.tags ?? []).flatMap((tag) => ["--tag", tag]),
  ];
  const params =
    job.params === null || job.params === undefined ? [] : ["--params", JSON.stringify(job.params)];
  const words =
    command === null
      ? ["jobctl", "submit", ...options, ...params, job.type]
      : ["jobctl", "submit", ...options, job.type, "--exec", "--", ...command];
  return joinWords(words);
}

function asCurl(job: JobView): string {
  const { type, params, run, priority, requires, limits, max_attempts, metadata } = job;
  const timeout_sec = submittedTimeoutSec(job);
  const body = { type, run, params, priority, requires, limits, timeout_sec, max_attempts, metadata };
  const given = Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== null && value !== undefined),
  );
  const url = `${location.origin}/api/v1/jobs`;
  return `curl -sS ${url} -H "Authorization: Bearer $WRIT_TOKEN" -H 'Content-Type: application/json' -d ${quoteWord(JSON.stringify(given))}`;
}
