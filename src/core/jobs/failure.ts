/** Why an attempt failed. The class decides what happens next; the detail gives the exact cause. */
export const failureClasses = {
  SECURITY_VIOLATION: { retries: 0, delayMs: 0 },
  INVALID_JOB: { retries: 0, delayMs: 0 },
  CANCELLED: { retries: 0, delayMs: 0 },
  EXPIRED: { retries: 0, delayMs: 0 },
  TIMEOUT: { retries: 1, delayMs: 60_000 },
  EXECUTION_ERROR: { retries: 2, delayMs: 30_000 },
  WORKER_DISCONNECTED: { retries: 3, delayMs: 15_000 },
} as const satisfies Record<string, { retries: number; delayMs: number }>;

/** A release with a reason that begins with one of these says that nothing was executed. */
export const sandboxUnavailable = "SANDBOX_UNAVAILABLE";
export const notStarted = "NOT_STARTED";

export type FailureClass = keyof typeof failureClasses;

export const failureDetails = {
  INVALID_SIGNATURE: "SECURITY_VIOLATION",
  PATH_TRAVERSAL_ATTEMPT: "SECURITY_VIOLATION",
  REPLAY: "SECURITY_VIOLATION",
  KEY_NOT_TRUSTED: "SECURITY_VIOLATION",
  SOLVER_CHECKSUM_MISMATCH: "INVALID_JOB",
  URL_FORBIDDEN: "INVALID_JOB",
  JOB_NOT_ACCEPTED: "INVALID_JOB",
  NO_SUCH_MODEL: "INVALID_JOB",
  NO_SUCH_SECRET: "INVALID_JOB",
  NO_SUCH_INPUT: "INVALID_JOB",
  INPUT_CHECKSUM_MISMATCH: "INVALID_JOB",
  JOB_POLL_TIMEOUT: "TIMEOUT",
  IDLE_TIMEOUT: "TIMEOUT",
  WORKER_NOT_READY: "EXECUTION_ERROR",
  WORKER_EXIT_ERROR: "EXECUTION_ERROR",
  JOB_SUBMIT_FAILED: "EXECUTION_ERROR",
  HTTP_REQUEST_FAILED: "EXECUTION_ERROR",
  OUTPUT_LIMIT: "EXECUTION_ERROR",
  OOM_KILLED: "EXECUTION_ERROR",
  SIGNALED: "EXECUTION_ERROR",
  SPAWN_FAILED: "EXECUTION_ERROR",
  INPUT_UNAVAILABLE: "EXECUTION_ERROR",
  UPLOAD_FAILED: "EXECUTION_ERROR",
  MANIFEST_INVALID: "EXECUTION_ERROR",
  VALIDATION_FAILED: "EXECUTION_ERROR",
  BUDGET_EXCEEDED: "EXECUTION_ERROR",
  SUPERSEDED: "CANCELLED",
} as const satisfies Record<string, FailureClass>;

export type FailureDetail = keyof typeof failureDetails;

export const failureCodes = [...Object.keys(failureClasses), ...Object.keys(failureDetails)] as [
  FailureClass | FailureDetail,
  ...(FailureClass | FailureDetail)[],
];

/** What a worker reports of a claim that is not authentic. None of it says anything about the job. */
export const claimDetails = [
  "INVALID_SIGNATURE",
  "KEY_NOT_TRUSTED",
  "REPLAY",
] as const satisfies FailureDetail[];

export type ClaimDetail = (typeof claimDetails)[number];

export function isClaimDetail(detail: string | null): detail is ClaimDetail {
  return claimDetails.some((one) => one === detail);
}

/** Whether only the hub gives this code: a worker neither cancels a job nor lets it expire in the queue. */
export function isHubCode(code: FailureClass | FailureDetail): boolean {
  const { code: failureClass } = classify(code);
  return failureClass === "CANCELLED" || failureClass === "EXPIRED";
}

/**
 * The failure code of Writ that the work itself gave, for example the function of a job; undefined if the work cannot
 * know that code. Work cannot report an attack, a lost worker or a cancel.
 */
export function codeOfWork(given: unknown): FailureClass | FailureDetail | undefined {
  const known = failureCodes.find((code) => code === given);
  return known !== undefined && isOfWork(known) ? known : undefined;
}

function isOfWork(code: FailureClass | FailureDetail): boolean {
  const parent = classify(code).code;
  return code === "INVALID_JOB" || parent === "TIMEOUT" || parent === "EXECUTION_ERROR";
}

/** The codes that mean something to Writ, so that a function cannot use them for something else. */
export const writCodes: readonly string[] = [...failureCodes, sandboxUnavailable, notStarted];

/** Whether a detail says that something was forged or tried to reach what is forbidden. */
export function isSecurityDetail(detail: string): boolean {
  return isDetail(detail) && failureDetails[detail] === "SECURITY_VIOLATION";
}

/** The class of a code, and the code itself if it is a detail of that class. */
export function classify(code: FailureClass | FailureDetail): { code: FailureClass; detail: string | null } {
  if (isDetail(code)) return { code: failureDetails[code], detail: code };
  return { code, detail: null };
}

function isDetail(code: string): code is FailureDetail {
  return Object.hasOwn(failureDetails, code);
}
