/**
 * Every error that a caller can see, in one table: its status over HTTP and gRPC, its exit code on the command line,
 * and whether the same call may succeed later. Codes are API; messages are for people.
 */
export const errorTable = {
  // the request itself
  INVALID_ARGUMENT: { http: 400, grpc: "INVALID_ARGUMENT", exit: 2, retryable: false },
  INVALID_JSON: { http: 400, grpc: "INVALID_ARGUMENT", exit: 2, retryable: false },
  DUPLICATE_KEY: { http: 400, grpc: "INVALID_ARGUMENT", exit: 2, retryable: false },
  TOO_DEEP: { http: 400, grpc: "INVALID_ARGUMENT", exit: 2, retryable: false },
  BODY_TIMEOUT: { http: 408, grpc: "DEADLINE_EXCEEDED", exit: 1, retryable: true },
  TOO_LARGE: { http: 413, grpc: "RESOURCE_EXHAUSTED", exit: 1, retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { http: 415, grpc: "INVALID_ARGUMENT", exit: 1, retryable: false },
  NOT_IN_FRAMES: { http: 421, grpc: "UNIMPLEMENTED", exit: 1, retryable: false },
  METHOD_NOT_ALLOWED: { http: 405, grpc: "UNIMPLEMENTED", exit: 1, retryable: false },
  NOT_FOUND: { http: 404, grpc: "NOT_FOUND", exit: 4, retryable: false },
  WORKER_UNKNOWN: { http: 404, grpc: "NOT_FOUND", exit: 4, retryable: false },
  RANGE_NOT_SATISFIABLE: { http: 416, grpc: "OUT_OF_RANGE", exit: 1, retryable: false },
  // the identity of the caller
  UNAUTHENTICATED: { http: 401, grpc: "UNAUTHENTICATED", exit: 5, retryable: false },
  PERMISSION_DENIED: { http: 403, grpc: "PERMISSION_DENIED", exit: 5, retryable: false },
  WORKER_BLOCKED: { http: 403, grpc: "PERMISSION_DENIED", exit: 5, retryable: false },
  LOCKDOWN: { http: 423, grpc: "UNAVAILABLE", exit: 1, retryable: true },
  QUOTA_EXCEEDED: { http: 429, grpc: "RESOURCE_EXHAUSTED", exit: 1, retryable: true },
  RATE_LIMITED: { http: 429, grpc: "RESOURCE_EXHAUSTED", exit: 1, retryable: true },
  TOO_MANY_STREAMS: { http: 429, grpc: "RESOURCE_EXHAUSTED", exit: 1, retryable: true },
  // the state of the job, worker or output
  STATE_CONFLICT: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  LEASE_LOST: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  CANCELLED: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  RESULT_CONFLICT: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  LANE_DIFFERS: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  IDEMPOTENCY_MISMATCH: { http: 409, grpc: "ALREADY_EXISTS", exit: 1, retryable: false },
  UNIQUE_HELD: { http: 409, grpc: "ALREADY_EXISTS", exit: 1, retryable: false },
  OUTPUT_REMOVED: { http: 410, grpc: "NOT_FOUND", exit: 4, retryable: false },
  OUTPUT_OFFSET: { http: 409, grpc: "ABORTED", exit: 1, retryable: true },
  UPLOAD_OFFSET: { http: 409, grpc: "ABORTED", exit: 1, retryable: true },
  FILES_INCOMPLETE: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  FILE_REMOVED: { http: 410, grpc: "NOT_FOUND", exit: 4, retryable: false },
  OUTPUT_INCOMPLETE: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  WORKER_KEY_CONFLICT: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  WORKER_REPLACED: { http: 409, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  // trust
  INVALID_SIGNATURE: { http: 400, grpc: "INVALID_ARGUMENT", exit: 1, retryable: false },
  CHECKSUM_MISMATCH: { http: 400, grpc: "INVALID_ARGUMENT", exit: 1, retryable: false },
  INVALID_DOCUMENT: { http: 400, grpc: "INVALID_ARGUMENT", exit: 1, retryable: false },
  LEASE_INVALID: { http: 400, grpc: "INVALID_ARGUMENT", exit: 1, retryable: false },
  KEY_REJECTED: { http: 400, grpc: "INVALID_ARGUMENT", exit: 1, retryable: false },
  KEY_NOT_TRUSTED: { http: 400, grpc: "INVALID_ARGUMENT", exit: 1, retryable: false },
  REPLAY: { http: 400, grpc: "INVALID_ARGUMENT", exit: 1, retryable: false },
  // the hub
  STORE_CORRUPT: { http: 500, grpc: "DATA_LOSS", exit: 1, retryable: false },
  STORE_ROLLED_BACK: { http: 500, grpc: "DATA_LOSS", exit: 1, retryable: false },
  STORE_UNAVAILABLE: { http: 503, grpc: "UNAVAILABLE", exit: 1, retryable: true },
  OUTPUT_UNAVAILABLE: { http: 503, grpc: "UNAVAILABLE", exit: 1, retryable: true },
  OUTPUT_ELSEWHERE: { http: 503, grpc: "UNAVAILABLE", exit: 1, retryable: false },
  FILES_UNAVAILABLE: { http: 503, grpc: "UNAVAILABLE", exit: 1, retryable: true },
  STORAGE_FULL: { http: 507, grpc: "RESOURCE_EXHAUSTED", exit: 1, retryable: true },
  SHUTTING_DOWN: { http: 503, grpc: "UNAVAILABLE", exit: 1, retryable: true },
  HUB_MOVED: { http: 503, grpc: "UNAVAILABLE", exit: 6, retryable: true },
  INTERNAL: { http: 500, grpc: "INTERNAL", exit: 1, retryable: false },
  // raised only on the caller's own machine
  CONFIG_INVALID: { http: 500, grpc: "INTERNAL", exit: 2, retryable: false },
  HUB_UNREACHABLE: { http: 503, grpc: "UNAVAILABLE", exit: 6, retryable: true },
  CLIENT_CLOSED: { http: 500, grpc: "FAILED_PRECONDITION", exit: 1, retryable: false },
  OUTCOME_UNKNOWN: { http: 504, grpc: "UNKNOWN", exit: 6, retryable: false },
  HTTP_ERROR: { http: 502, grpc: "UNKNOWN", exit: 1, retryable: false },
  TIMED_OUT: { http: 504, grpc: "DEADLINE_EXCEEDED", exit: 1, retryable: false },
  JOB_FAILED: { http: 500, grpc: "UNKNOWN", exit: 1, retryable: false },
} as const satisfies Record<string, ErrorRow>;

type ErrorRow = { http: number; grpc: GrpcStatus; exit: number; retryable: boolean };

export type ErrorCode = keyof typeof errorTable;

/** The statuses of gRPC in the order of their numbers, from 0. */
export const grpcStatuses = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

export type GrpcStatus = (typeof grpcStatuses)[number];

/** The code of a gRPC status that arrives without a code of the table; INTERNAL if it is not here. */
export const codeOfStatus: Partial<Record<GrpcStatus, ErrorCode>> = {
  CANCELLED: "HUB_UNREACHABLE",
  INVALID_ARGUMENT: "INVALID_ARGUMENT",
  DEADLINE_EXCEEDED: "HUB_UNREACHABLE",
  NOT_FOUND: "NOT_FOUND",
  ALREADY_EXISTS: "IDEMPOTENCY_MISMATCH",
  PERMISSION_DENIED: "PERMISSION_DENIED",
  RESOURCE_EXHAUSTED: "RATE_LIMITED",
  FAILED_PRECONDITION: "STATE_CONFLICT",
  ABORTED: "OUTPUT_OFFSET",
  OUT_OF_RANGE: "RANGE_NOT_SATISFIABLE",
  UNIMPLEMENTED: "METHOD_NOT_ALLOWED",
  UNAVAILABLE: "SHUTTING_DOWN",
  UNAUTHENTICATED: "UNAUTHENTICATED",
};

/** Every error that a caller sees: a code from the table, a sentence for people, data for programs. */
export class WritError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, details?: Record<string, unknown>) {
    super(message);
    this.name = "WritError";
    this.code = code;
    this.details = details;
  }
}

export type FieldIssue = { path: string; message: string };

/** INVALID_ARGUMENT that names the fields at fault: the first in its sentence, all of them in `issues`. */
export function invalidArgument(...issues: [FieldIssue, ...FieldIssue[]]): WritError {
  const [{ path, message }] = issues;
  return new WritError("INVALID_ARGUMENT", `${path || "the request"}: ${message}`, { issues });
}

/**
 * Whether the same call may succeed later: the hub is away, stopping or overloaded, or a proxy answers in its place.
 */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof WritError)) return false;
  if (error.code !== "HTTP_ERROR") return isRetryableCode(error.code);
  const status = Number(error.details?.["status"]);
  return status >= 500 || status === 429 || status === 408;
}

export function isRetryableCode(code: string): boolean {
  return isErrorCode(code) && errorTable[code].retryable;
}

/** Whether it is a WritError, or an error of the operating system, with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(error.code as string);
}

/** Whether the operating system had no room for what was to be written: on the disk, or in the user's quota. */
export function isDiskFull(error: unknown): boolean {
  return hasCode(error, "ENOSPC", "EDQUOT");
}

/** The code of a WritError or of an error of the operating system; the text of any other. */
export function codeOf(error: unknown): string {
  const isCoded = error instanceof Error && "code" in error && typeof error.code === "string";
  return isCoded ? (error.code as string) : String(error);
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}
