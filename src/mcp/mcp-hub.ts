import type { RouteInput } from "../contract/routes/build-request.ts";
import type { RouteAnswer } from "../contract/routes/read-answer.ts";
import type { RouteName, routes } from "../contract/routes/routes.ts";
import type { JobView } from "../contract/shapes/view-shapes.ts";
import type { OutputStream } from "../core/jobs/output-stream.ts";

type Routes = typeof routes;

/**
 * A hub as one caller sees it. Every tool acts through this, and whatever is behind it decides what the caller may do: in
 * the hub the handlers of the routes, on a user's machine the routes themselves. Why: ADR 0119.
 */
export type McpHub = {
  /** Calls a route of the table; a refusal is thrown as the hub's error. */
  call<N extends RouteName>(name: N, input: RouteInput<Routes[N]>): Promise<RouteAnswer<Routes[N]>>;
  /** A part of what an attempt has written to a stream. */
  readOutput(asked: AskedOutput, part: OutputPart): Promise<FoundOutput>;
  /** The whole of a file that the job has stored. A larger one is TOO_LARGE. */
  readArtifact(file: { jobId: string; key: string; folderId: string; bytesMax: number }): Promise<Uint8Array>;
  /** The job when it has ended, or as it is after this time. */
  waitForEnd(jobId: string, timeoutMs: number): Promise<JobView>;
};

export type AskedOutput = { jobId: string; stream: OutputStream; attempt?: number | undefined };

/** Bytes from `start` to before `end`, or so many at the end. */
export type OutputPart = { start: number; end: number } | { last: number };

export type FoundOutput = { size: number; start: number; bytes: Uint8Array };
