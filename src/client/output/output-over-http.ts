import { statusOfView } from "../../contract/job-status.ts";
import { jobRoutes } from "../../contract/routes/job-routes.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import type { OutputPosition, StreamDeps } from "./stream-attempts.ts";

/** How to read the output of a job over HTTP. */
export function outputOverHttp(hub: HubCaller, jobId: string): StreamDeps {
  const { clock, random } = hub;
  const params = { id: jobId };
  return {
    clock,
    random,
    namesAttempt: true,
    status: async (signal) => statusOfView((await hub.call(jobRoutes.getJob, { params }, { signal })).body),
    read: (position, signal) => readOutput(hub, { ...position, jobId }, signal),
  };
}

async function* readOutput(
  hub: HubCaller,
  { jobId, stream, offset, attempt }: OutputPosition & { jobId: string },
  signal: AbortSignal,
) {
  const query = { offset, attempt: attempt === 0 ? undefined : attempt, follow: true };
  const answer = await hub.stream(jobRoutes.readOutput, { params: { id: jobId, stream }, query }, signal);
  // The hub has answered, though a job that writes nothing sends nothing.
  yield { data: new Uint8Array(), offset, attempt: attemptIn(answer.header("x-job-attempt")) };
  let at = offset;
  for await (const data of answer.body) {
    yield { data, offset: at };
    at += data.length;
  }
}

function attemptIn(text: string | undefined): number | undefined {
  const attempt = Number(text);
  return Number.isSafeInteger(attempt) && attempt > 0 ? attempt : undefined;
}
