/**
 * `forbidden`: the worker does not connect there; `too-large`: more than it accepts; `failed`: the other side or the
 * network, so that a later try may succeed.
 */
export type FetchProblem = "forbidden" | "too-large" | "failed";

/** Why a download did not succeed. Its message names the host and never the whole URL, which may contain a token. */
export class FetchError extends Error {
  readonly problem: FetchProblem;

  constructor(problem: FetchProblem, message: string) {
    super(message);
    this.name = "FetchError";
    this.problem = problem;
  }
}
