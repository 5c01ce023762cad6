/**
 * The messages of JobService as plain tables, for a client that has to start fast: the generated code builds its
 * descriptors in every process, which takes half as long as starting Node. A test compares these tables with it.
 */
export type WireKind = "string" | "bytes" | "bool" | "int32" | "uint32" | "int64" | "uint64" | "double";

export type WireField = {
  number: number;
  kind: WireKind | "map" | WireMessage;
  /** By default a single value, which is not sent if it equals its default. */
  count?: "optional" | "repeated";
};

/** The fields by their names, in the order of their numbers. A map is from strings to strings. */
export type WireMessage = { readonly [name: string]: WireField };

// Enumerations are sent as int32; an unknown one is read as its number.
const state: WireField["kind"] = "int32";

const resourceLimits = {
  cpu: { number: 1, kind: "string" },
  memory: { number: 2, kind: "string" },
  io: { number: 3, kind: "string" },
  pids: { number: 4, kind: "uint32" },
  network: { number: 5, kind: "string" },
} as const satisfies WireMessage;

const isolation = {
  level: { number: 1, kind: "string" },
  applied: { number: 2, kind: "string", count: "repeated" },
  missing: {
    number: 3,
    kind: { part: { number: 1, kind: "string" }, why: { number: 2, kind: "string" } },
    count: "repeated",
  },
  cgroup: { number: 4, kind: "string" },
} as const satisfies WireMessage;

const usage = {
  cpuMs: { number: 1, kind: "uint64" },
  memoryPeakBytes: { number: 2, kind: "uint64" },
  oom: { number: 3, kind: "bool" },
} as const satisfies WireMessage;

const jobStatus = {
  jobId: { number: 1, kind: "string" },
  user: { number: 2, kind: "string" },
  state: { number: 3, kind: state },
  exitCode: { number: 4, kind: "int32", count: "optional" },
  reason: { number: 5, kind: "string" },
  tenant: { number: 6, kind: "string" },
  type: { number: 7, kind: "string" },
  command: { number: 8, kind: "string", count: "repeated" },
  limits: { number: 9, kind: resourceLimits },
  worker: { number: 10, kind: "string" },
  isolation: { number: 11, kind: isolation },
  createdAt: { number: 12, kind: "int64" },
  startedAt: { number: 13, kind: "int64" },
  endedAt: { number: 14, kind: "int64" },
  attempt: { number: 15, kind: "uint32" },
  progress: { number: 16, kind: "double", count: "optional" },
  stdoutBytes: { number: 17, kind: "uint64" },
  stderrBytes: { number: 18, kind: "uint64" },
  usage: { number: 19, kind: usage },
  failCode: { number: 20, kind: "string" },
  failDetail: { number: 21, kind: "string" },
  attempts: { number: 22, kind: "uint32" },
  maxAttempts: { number: 23, kind: "uint32" },
  lastError: { number: 24, kind: "string" },
  retryAt: { number: 25, kind: "int64" },
  outputRemoved: { number: 26, kind: "bool" },
  kind: { number: 27, kind: "string" },
  solverUrl: { number: 28, kind: "string" },
  solverChecksum: { number: 29, kind: "string" },
  port: { number: 30, kind: "uint32" },
  container: { number: 31, kind: "string" },
  agent: { number: 32, kind: "string" },
  scheduledAt: { number: 33, kind: "int64" },
  lastLine: { number: 34, kind: "string" },
} as const satisfies WireMessage;

const jobId = { jobId: { number: 1, kind: "string" } } as const satisfies WireMessage;

const startJobRequest = {
  command: { number: 1, kind: "string", count: "repeated" },
  limits: { number: 2, kind: resourceLimits },
  env: { number: 3, kind: "map" },
  cwd: { number: 4, kind: "string" },
  timeoutSec: { number: 5, kind: "uint32" },
  requires: {
    number: 6,
    kind: {
      tags: { number: 1, kind: "string", count: "repeated" },
      session: { number: 2, kind: "string" },
    },
  },
  idempotencyKey: { number: 7, kind: "string" },
  maxAttempts: { number: 8, kind: "uint32" },
  stdin: { number: 9, kind: "bytes" },
} as const satisfies WireMessage;

const streamOutputRequest = {
  jobId: { number: 1, kind: "string" },
  stream: { number: 2, kind: "int32" },
  offset: { number: 3, kind: "uint64" },
  attempt: { number: 4, kind: "uint32" },
  maxChunkBytes: { number: 5, kind: "uint32" },
} as const satisfies WireMessage;

const streamOutputResponse = {
  data: { number: 1, kind: "bytes" },
  offset: { number: 2, kind: "uint64" },
  attempt: { number: 3, kind: "uint32" },
} as const satisfies WireMessage;

const listJobsRequest = {
  state: { number: 1, kind: state },
  type: { number: 2, kind: "string" },
  worker: { number: 3, kind: "string" },
  pageSize: { number: 4, kind: "uint32" },
  pageToken: { number: 5, kind: "string" },
  user: { number: 6, kind: "string" },
  status: { number: 7, kind: "string" },
  failCode: { number: 8, kind: "string" },
  since: { number: 9, kind: "int64" },
  until: { number: 10, kind: "int64" },
  search: { number: 11, kind: "string" },
  id: { number: 12, kind: "string" },
  count: { number: 13, kind: "bool" },
} as const satisfies WireMessage;

const listJobsResponse = {
  jobs: { number: 1, kind: jobStatus, count: "repeated" },
  nextPageToken: { number: 2, kind: "string" },
  total: { number: 3, kind: "uint32", count: "optional" },
  totalIsMore: { number: 4, kind: "bool" },
} as const satisfies WireMessage;

type WireMethod = { path: string; input: WireMessage; output: WireMessage };

/** The calls, under the names that a client uses. */
export const jobMethods = {
  startJob: { path: "/writ.v1.JobService/StartJob", input: startJobRequest, output: jobId },
  stopJob: {
    path: "/writ.v1.JobService/StopJob",
    input: jobId,
    output: { status: { number: 1, kind: jobStatus } },
  },
  getStatus: { path: "/writ.v1.JobService/GetStatus", input: jobId, output: jobStatus },
  streamOutput: {
    path: "/writ.v1.JobService/StreamOutput",
    input: streamOutputRequest,
    output: streamOutputResponse,
  },
  listJobs: { path: "/writ.v1.JobService/ListJobs", input: listJobsRequest, output: listJobsResponse },
  exchangeCertificate: {
    path: "/writ.v1.JobService/ExchangeCertificate",
    input: {},
    output: { token: { number: 1, kind: "string" }, expiresAt: { number: 2, kind: "int64" } },
  },
} as const satisfies Record<string, WireMethod>;

export const wireStates = { UNKNOWN: 0, RUNNING: 1, EXITED: 2, STOPPED: 3, FAILED: 4, QUEUED: 5 } as const;
export const wireStreams = { stdout: 0, stderr: 1 } as const;
