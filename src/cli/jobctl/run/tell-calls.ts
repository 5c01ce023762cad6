import type { Command } from "commander";
import type { Writ } from "../../../client/index.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";
import { callText, type ToldCall } from "../delegate/call-text.ts";

type TellInput = { context: CliContext; command: Command; jobId: string };

/**
 * Says on stderr what a job's coding agent does, while `act` follows the job. Without a protocol in its entry the agent
 * tells nothing of itself, and nothing is said.
 */
export async function tellingCalls<T>(input: TellInput, act: () => Promise<T>): Promise<T> {
  if (wantsJson(input.command)) return act();
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, input.context.stops.requested]);
  const telling = withWrit(input.context, input.command, (writ) => tell(writ, input, signal)).catch(() => {
    // The job is what the caller has asked for; it is followed without this.
  });
  try {
    const result = await act();
    // The last calls were recorded before the job ended; they arrive in a moment, or a stop has ended the wait.
    await Promise.race([telling, systemClock.sleep(lastCallsMs, signal)]).catch(() => {});
    return result;
  } finally {
    over.abort();
    await telling;
  }
}

/** How long the last calls may take to arrive when the job has ended. */
const lastCallsMs = 2_000;

async function tell(writ: Writ, input: TellInput, signal: AbortSignal): Promise<void> {
  const { context, jobId } = input;
  const say = async (call: ToldCall): Promise<void> => {
    const text = callText(call);
    if (text !== undefined) await writeSlowly(context, `${neutraliseLine(text)}\n`, signal, context.stderr);
  };
  let lastSeq: number | undefined;
  let isOver = false;
  for await (const { event, seq, details } of writ.timeline(jobId)) {
    lastSeq = seq;
    isOver = isEnded(details["status"] as never);
    if (event === "JOB_AGENT") await say(details as ToldCall);
  }
  if (isOver) return;
  const lastEventId = lastSeq === undefined ? undefined : String(lastSeq);
  for await (const event of writ.events({ jobId, lastEventId, signal })) {
    if (event.event === "reset") continue;
    if (event.event === "job:agent") await say(event);
    if (isEnded(event.status)) return;
  }
}
