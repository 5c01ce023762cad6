import { retryInSecMax } from "../core/retry/retry-policy.ts";

type RetryInOptions = {
  /** A code of your own, such as RATE_LIMITED; it becomes the failure's `fail_detail`. */
  code?: string | undefined;
  cause?: unknown;
};

/**
 * Thrown by a handler: the attempt has failed, and the next one, if the job has any left, starts after this many seconds. That is an
 * ordinary answer, such as when another program says when it can be asked again.
 */
export class RetryIn extends Error {
  readonly seconds: number;
  readonly code: string | undefined;

  constructor(seconds: number, message: string, { code, cause }: RetryInOptions = {}) {
    super(message, cause === undefined ? {} : { cause });
    if (!(seconds >= 0 && seconds <= retryInSecMax))
      throw new RangeError(`seconds: must be a number from 0 to ${retryInSecMax}; found ${String(seconds)}`);
    this.name = "RetryIn";
    this.seconds = Math.ceil(seconds);
    this.code = code;
  }
}
