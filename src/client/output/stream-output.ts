import { jobRoutes } from "../../contract/routes/job-routes.ts";
import { isActive, isEnded } from "../../core/jobs/job.ts";
import type { OutputStream } from "../../core/jobs/output-stream.ts";
import type { OptionNames } from "../../runtime/check-options.ts";
import type { HttpStream } from "../../runtime/http/http-client.ts";
import { openDeadline } from "../deadline.ts";
import type { HubConnection } from "../hub/hub-connection.ts";
import { Pace } from "../hub/pace.ts";
import { asHubBehind } from "./hub-behind.ts";

export type StreamOutputOptions = {
  stream?: OutputStream | undefined;
  offset?: number | undefined;
  /** Default: the latest attempt. */
  attempt?: number | undefined;
  /** Whether to follow until the attempt has ended (default: true). */
  follow?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** The names of `StreamOutputOptions`. */
export const streamOutputOptions: OptionNames<StreamOutputOptions> = {
  stream: true,
  offset: true,
  attempt: true,
  follow: true,
  signal: true,
};

/**
 * The bytes of one attempt's output, each exactly once. After a broken connection it asks for the rest of the same
 * attempt, from the first byte that it has not yielded yet.
 */
export async function* streamOutput(
  hub: HubConnection,
  jobId: string,
  options: StreamOutputOptions,
): AsyncGenerator<Buffer> {
  const deadline = openDeadline(hub.clock, { signal: options.signal });
  const pace = new Pace(hub);
  const position: StreamPosition = {
    stream: options.stream ?? "stdout",
    offset: options.offset ?? 0,
    attempt: options.attempt,
    isFollowing: options.follow ?? true,
  };
  try {
    for (;;) {
      deadline.signal.throwIfAborted();
      try {
        yield* readOn(hub, jobId, { position, pace, signal: deadline.signal });
        if (!position.isFollowing || (await isComplete(hub, jobId, { position, signal: deadline.signal })))
          return;
        await pace.pause(deadline.signal);
      } catch (error) {
        await pace.pauseAfter(
          position.isFollowing ? asHubBehind(error, position.offset) : error,
          deadline.signal,
        );
      }
    }
  } finally {
    deadline.release();
  }
}

type StreamPosition = {
  stream: OutputStream;
  offset: number;
  attempt: number | undefined;
  isFollowing: boolean;
};

async function* readOn(
  hub: HubConnection,
  jobId: string,
  { position, pace, signal }: { position: StreamPosition; pace: Pace; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  const params = { id: jobId, stream: position.stream };
  const follow = position.isFollowing ? true : undefined;
  const query = { offset: position.offset, attempt: position.attempt, follow };
  const answer = await hub.stream(jobRoutes.readOutput, { params, query }, signal);
  pace.answered();
  // From here on it is this attempt, even if another one begins before the connection breaks.
  position.attempt ??= attemptOf(answer);
  for await (const chunk of answer.body) {
    // Counted before it is yielded: a reader that stops and comes back must not get it twice.
    position.offset += chunk.length;
    pace.progressed();
    yield chunk;
  }
}

function attemptOf({ header }: HttpStream): number | undefined {
  const attempt = Number(header("x-job-attempt"));
  return Number.isSafeInteger(attempt) && attempt > 0 ? attempt : undefined;
}

/**
 * A hub that stops may end a stream normally before the attempt has ended, so the end of the stream proves nothing.
 * Once the attempt has ended, there is nothing left to follow, and one more read returns whatever is missing.
 */
async function isComplete(
  hub: HubConnection,
  jobId: string,
  { position, signal }: { position: StreamPosition; signal: AbortSignal },
): Promise<boolean> {
  const { body: job } = await hub.call(jobRoutes.getJob, { params: { id: jobId } }, { signal });
  if (position.attempt === undefined) return isEnded(job.status);
  const isStillToCome = position.attempt > job.attempt && !isEnded(job.status);
  if (isStillToCome || (position.attempt === job.attempt && isActive(job.status))) return false;
  position.isFollowing = false;
  return position.attempt === job.attempt && position.offset >= job.output[position.stream];
}
