// Made from writ/v1/job_service.proto by `npm run generate`; do not edit.

export const state = {
  UNKNOWN: 0,
  RUNNING: 1,
  EXITED: 2,
  STOPPED: 3,
  FAILED: 4,
  QUEUED: 5,
} as const;

export const stream = {
  STDOUT: 0,
  STDERR: 1,
} as const;

export const resourceLimits = {
  cpu: { number: 1, kind: "string" },
  memory: { number: 2, kind: "string" },
  io: { number: 3, kind: "string" },
  pids: { number: 4, kind: "uint32" },
  network: { number: 5, kind: "string" },
} as const;

export const egress = {
  allow: { number: 1, kind: "string", count: "repeated" },
  inject: { number: 2, kind: "string", count: "repeated" },
} as const;

export const requires = {
  tags: { number: 1, kind: "string", count: "repeated" },
  session: { number: 2, kind: "string" },
} as const;

export const startJobRequest = {
  command: { number: 1, kind: "string", count: "repeated" },
  limits: { number: 2, kind: "message", of: resourceLimits },
  env: { number: 3, kind: "map" },
  cwd: { number: 4, kind: "string" },
  timeout_sec: { number: 5, kind: "uint32" },
  requires: { number: 6, kind: "message", of: requires },
  idempotency_key: { number: 7, kind: "string" },
  max_attempts: { number: 8, kind: "uint32" },
  stdin: { number: 9, kind: "bytes" },
  egress: { number: 10, kind: "message", of: egress },
} as const;

export const startJobResponse = {
  job_id: { number: 1, kind: "string" },
} as const;

export const stopJobRequest = {
  job_id: { number: 1, kind: "string" },
} as const;

export const missingPart = {
  part: { number: 1, kind: "string" },
  why: { number: 2, kind: "string" },
} as const;

export const isolation = {
  level: { number: 1, kind: "string" },
  applied: { number: 2, kind: "string", count: "repeated" },
  missing: { number: 3, kind: "message", of: missingPart, count: "repeated" },
  cgroup: { number: 4, kind: "string" },
} as const;

export const networkUsage = {
  requests: { number: 1, kind: "uint64" },
  denied: { number: 2, kind: "uint64" },
  bytes: { number: 3, kind: "uint64" },
} as const;

export const usage = {
  cpu_ms: { number: 1, kind: "uint64" },
  memory_peak_bytes: { number: 2, kind: "uint64" },
  oom: { number: 3, kind: "bool" },
  network: { number: 4, kind: "message", of: networkUsage },
} as const;

export const agentUse = {
  tool_calls: { number: 1, kind: "uint64" },
  denied: { number: 2, kind: "uint64" },
  tokens_in: { number: 3, kind: "uint64" },
  tokens_out: { number: 4, kind: "uint64" },
  cost_usd: { number: 5, kind: "double", count: "optional" },
  session_id: { number: 6, kind: "string" },
  model: { number: 7, kind: "string" },
} as const;

export const jobStatus = {
  job_id: { number: 1, kind: "string" },
  user: { number: 2, kind: "string" },
  state: { number: 3, kind: "enum", of: state },
  exit_code: { number: 4, kind: "int32", count: "optional" },
  reason: { number: 5, kind: "string" },
  tenant: { number: 6, kind: "string" },
  type: { number: 7, kind: "string" },
  command: { number: 8, kind: "string", count: "repeated" },
  limits: { number: 9, kind: "message", of: resourceLimits },
  worker: { number: 10, kind: "string" },
  isolation: { number: 11, kind: "message", of: isolation },
  created_at: { number: 12, kind: "int64" },
  started_at: { number: 13, kind: "int64" },
  ended_at: { number: 14, kind: "int64" },
  attempt: { number: 15, kind: "uint32" },
  progress: { number: 16, kind: "double", count: "optional" },
  stdout_bytes: { number: 17, kind: "uint64" },
  stderr_bytes: { number: 18, kind: "uint64" },
  usage: { number: 19, kind: "message", of: usage },
  fail_code: { number: 20, kind: "string" },
  fail_detail: { number: 21, kind: "string" },
  attempts: { number: 22, kind: "uint32" },
  max_attempts: { number: 23, kind: "uint32" },
  last_error: { number: 24, kind: "string" },
  retry_at: { number: 25, kind: "int64" },
  output_removed: { number: 26, kind: "bool" },
  kind: { number: 27, kind: "string" },
  solver_url: { number: 28, kind: "string" },
  solver_checksum: { number: 29, kind: "string" },
  port: { number: 30, kind: "uint32" },
  container: { number: 31, kind: "string" },
  agent: { number: 32, kind: "string" },
  scheduled_at: { number: 33, kind: "int64" },
  last_line: { number: 34, kind: "string" },
  agent_use: { number: 35, kind: "message", of: agentUse },
} as const;

export const stopJobResponse = {
  status: { number: 1, kind: "message", of: jobStatus },
} as const;

export const getStatusRequest = {
  job_id: { number: 1, kind: "string" },
} as const;

export const streamOutputRequest = {
  job_id: { number: 1, kind: "string" },
  stream: { number: 2, kind: "enum", of: stream },
  offset: { number: 3, kind: "uint64" },
  attempt: { number: 4, kind: "uint32" },
  max_chunk_bytes: { number: 5, kind: "uint32" },
} as const;

export const streamOutputResponse = {
  data: { number: 1, kind: "bytes" },
  offset: { number: 2, kind: "uint64" },
  attempt: { number: 3, kind: "uint32" },
} as const;

export const listJobsRequest = {
  state: { number: 1, kind: "enum", of: state },
  type: { number: 2, kind: "string" },
  worker: { number: 3, kind: "string" },
  page_size: { number: 4, kind: "uint32" },
  page_token: { number: 5, kind: "string" },
  user: { number: 6, kind: "string" },
  status: { number: 7, kind: "string" },
  fail_code: { number: 8, kind: "string" },
  since: { number: 9, kind: "int64" },
  until: { number: 10, kind: "int64" },
  search: { number: 11, kind: "string" },
  id: { number: 12, kind: "string" },
  count: { number: 13, kind: "bool" },
  label: { number: 14, kind: "string" },
  schedule: { number: 15, kind: "string" },
} as const;

export const listJobsResponse = {
  jobs: { number: 1, kind: "message", of: jobStatus, count: "repeated" },
  next_page_token: { number: 2, kind: "string" },
  total: { number: 3, kind: "uint32", count: "optional" },
  total_is_more: { number: 4, kind: "bool" },
} as const;

export const exchangeCertificateRequest = {
} as const;

export const exchangeCertificateResponse = {
  token: { number: 1, kind: "string" },
  expires_at: { number: 2, kind: "int64" },
} as const;

export const jobService = {
  startJob: { path: "/writ.v1.JobService/StartJob", input: startJobRequest, output: startJobResponse },
  stopJob: { path: "/writ.v1.JobService/StopJob", input: stopJobRequest, output: stopJobResponse },
  getStatus: { path: "/writ.v1.JobService/GetStatus", input: getStatusRequest, output: jobStatus },
  streamOutput: { path: "/writ.v1.JobService/StreamOutput", input: streamOutputRequest, output: streamOutputResponse },
  listJobs: { path: "/writ.v1.JobService/ListJobs", input: listJobsRequest, output: listJobsResponse },
  exchangeCertificate: { path: "/writ.v1.JobService/ExchangeCertificate", input: exchangeCertificateRequest, output: exchangeCertificateResponse },
} as const;
