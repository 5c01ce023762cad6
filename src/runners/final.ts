type FinalOptions = {
  /** A code of your own, such as CARD_DECLINED; it becomes the job's `fail_detail`. */
  code?: string | undefined;
  cause?: unknown;
};

/**
 * Thrown by a handler to report that the job has failed for good, as an ordinary answer. The job ends as
 * EXECUTION_ERROR, without a retry and without an alert.
 */
export class Final extends Error {
  readonly code: string | undefined;

  constructor(message: string, { code, cause }: FinalOptions = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.name = "Final";
    this.code = code;
  }
}
