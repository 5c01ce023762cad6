import type { Command } from "commander";
import type { Job, JobEvent, RpcJob, Writ } from "../../../client/index.ts";
import { statusOfView } from "../../../contract/job-status.ts";
import type { CliContext } from "../../context.ts";
import { formatDuration } from "../../terminal/duration.ts";
import { wantsJson } from "../../terminal/print.ts";
import { neutraliseLine, paintFor, safeJson } from "../../terminal/terminal.ts";
import { failureText } from "../list/job-columns.ts";
import { sayWaiting } from "../run/say-waiting.ts";
import type { WaitNotices } from "../run/wait-notices.ts";
import { resultText } from "./result.ts";

/**
 * Waits for a job and prints its result on stdout, as `jobctl result` does. Everything for people is on stderr: the id, the
 * progress on a terminal, and how the job ended. With --json, stdout is the job with its result. Exit code 1 if it did not complete.
 */
export async function watchJob(
  writ: Writ,
  { context, command, id }: { context: CliContext; command: Command; id: string },
): Promise<void> {
  const isJson = wantsJson(command);
  if (!isJson) context.stderr.write(`${context.program}: job ${id}\n`);
  const line = new ProgressLine(context);
  const waiting = { context, command, jobId: id, writ, beforeLine: () => line.clear() };
  const ended = await sayWaiting(waiting, (notices) => waitFor(writ, { context, id, line, notices }));
  line.clear();
  const job = statusOfView(ended);
  if (isJson) context.stdout.write(`${safeJson({ ...job, result: ended.result })}\n`);
  else context.stderr.write(`${context.program}: ${ending(context, job)}\n`);
  if (!hasSucceeded(job)) context.exitCode = 1;
  else if (!isJson) context.stdout.write(resultText(ended.result));
}

async function waitFor(
  writ: Writ,
  {
    context,
    id,
    line,
    notices,
  }: { context: CliContext; id: string; line: ProgressLine; notices: WaitNotices },
): Promise<Job> {
  const onEvent = (event: JobEvent): void => {
    line.show(event);
    if (event.event === "reset" || event.status === "pending") notices.lookAgain();
  };
  try {
    const { requested: signal } = context.stops;
    return await writ.wait(id, { signal, onEvent, onTrouble: notices.lookAgain });
  } catch (error) {
    line.clear();
    if (context.stops.requested.aborted) context.stderr.write("stopped waiting; the job continues\n");
    throw error;
  }
}

function hasSucceeded({ state, fail_code }: RpcJob): boolean {
  return state === "EXITED" && fail_code === null;
}

function ending(context: CliContext, job: RpcJob): string {
  const paint = paintFor(context.stderr, context.env);
  const took = formatDuration((job.ended_at ?? job.created_at) - job.created_at);
  if (hasSucceeded(job)) return `${paint.green(job.state)} after ${took}`;
  return `${paint.red(job.state)} after ${took}: ${neutraliseLine(failureText(job) || "no reason was given")}`;
}

/** One line on the terminal that is overwritten with each change. Nothing is written when stderr is not a terminal. */
class ProgressLine {
  readonly #context: CliContext;
  #isShown = false;

  constructor(context: CliContext) {
    this.#context = context;
  }

  show(event: JobEvent): void {
    const { stderr } = this.#context;
    if (!stderr.isTTY || event.event === "reset") return;
    const { progress, worker_id, detail } = event;
    const percent = progress === undefined ? "" : ` ${Math.round(progress)} %`;
    const where = worker_id === null ? "" : ` on ${worker_id}`;
    const text = neutraliseLine(
      `${event.event.replace(/^job:/, "")}${percent}${where}${detail === undefined ? "" : `: ${detail}`}`,
    );
    stderr.write(`\r\x1b[K${text.slice(0, Math.max(20, (stderr.columns ?? 80) - 1))}`);
    this.#isShown = true;
  }

  clear(): void {
    if (this.#isShown) this.#context.stderr.write("\r\x1b[K");
    this.#isShown = false;
  }
}
