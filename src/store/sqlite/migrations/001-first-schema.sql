-- One row per job with everything that changes. `ready` is 1 when the job can be claimed, 0 while it waits for
-- run_at, and null when it is not pending, so that the two indexes of the hot path never look at status.
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  queue_id INTEGER NOT NULL,
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  type TEXT NOT NULL,
  priority INTEGER NOT NULL,
  document_sha256 TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  request_hash TEXT,
  status TEXT NOT NULL,
  ready INTEGER,
  due_at INTEGER,
  attempt INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  timeout_sec INTEGER NOT NULL,
  document_timeout_sec INTEGER NOT NULL,
  releases INTEGER NOT NULL,
  retry_counts TEXT NOT NULL,
  queue_ttl_sec INTEGER,
  created_at INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  claimed_at INTEGER,
  started_at INTEGER,
  heartbeat_at INTEGER,
  completed_at INTEGER,
  cancel_requested_at INTEGER,
  worker_id TEXT,
  lease_token_hash TEXT,
  lease_expires_at INTEGER,
  deadline_at INTEGER,
  event_count INTEGER NOT NULL,
  exit_code INTEGER,
  progress TEXT,
  isolation TEXT,
  usage TEXT,
  output_files TEXT,
  receipt TEXT,
  fail_reason TEXT,
  fail_code TEXT,
  fail_detail TEXT,
  fail_history TEXT NOT NULL,
  result_hash TEXT,
  result_key TEXT,
  result TEXT,
  partial_result TEXT
) STRICT;

-- Only keys that a producer chose: one that was derived from the job's id is as unique as the id, and writing its
-- hash into an index, each time to another page, took half of the time of an insert (36,000 against 62,000 rows/s).
CREATE UNIQUE INDEX jobs_by_idempotency_key ON jobs (tenant_id, idempotency_key) WHERE request_hash IS NOT NULL;
CREATE INDEX jobs_by_user ON jobs (tenant_id, user_id, seq);
CREATE INDEX jobs_claimable ON jobs (queue_id, priority DESC, seq) WHERE ready = 1;
CREATE INDEX jobs_delayed ON jobs (run_at) WHERE ready = 0;
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_unsuccessful ON jobs (status, seq) WHERE status IN ('failed', 'quarantined');
CREATE INDEX jobs_ended ON jobs (completed_at) WHERE completed_at IS NOT NULL;

-- Apart from the job, because an update of a row writes the whole row again and documents may be large.
CREATE TABLE documents (
  job_seq INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
  document TEXT NOT NULL,
  mac BLOB NOT NULL
) STRICT;

-- jobs.queue_id has no foreign key: to remove an empty queue, SQLite would look through all jobs. The count in
-- `jobs` says when nothing refers to it any more.
CREATE TABLE queues (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  tenant_id TEXT NOT NULL,
  type TEXT NOT NULL,
  pending INTEGER NOT NULL,
  active INTEGER NOT NULL,
  jobs INTEGER NOT NULL
) STRICT;

CREATE TABLE tenants (
  id TEXT PRIMARY KEY,
  turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE quotas (
  tenant_id TEXT PRIMARY KEY,
  quota TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE paused_types (
  type TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Numbers that are kept rather than counted: the last seq of jobs and events (never given twice, even when the
-- newest rows are pruned), the last turn, and how many jobs are in each state.
CREATE TABLE tallies (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events outlive their jobs, so nothing here refers to the jobs table.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  ts INTEGER NOT NULL,
  event TEXT NOT NULL,
  tenant_id TEXT,
  job_id TEXT,
  owner_id TEXT,
  job_seq INTEGER,
  details TEXT NOT NULL,
  origin TEXT
) STRICT;

CREATE INDEX events_by_job ON events (job_id, seq) WHERE job_id IS NOT NULL;

CREATE TABLE workers (
  id TEXT PRIMARY KEY,
  name TEXT,
  facts TEXT NOT NULL,
  slots INTEGER NOT NULL,
  key_ids TEXT NOT NULL,
  public_key TEXT,
  version TEXT,
  status TEXT NOT NULL,
  blocked INTEGER NOT NULL,
  draining INTEGER NOT NULL,
  registered_at INTEGER NOT NULL,
  last_heartbeat INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL
) STRICT;

CREATE TABLE worker_metrics (
  worker_id TEXT NOT NULL REFERENCES workers (id) ON DELETE CASCADE,
  ts INTEGER NOT NULL,
  metrics TEXT NOT NULL,
  PRIMARY KEY (worker_id, ts)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL,
  tenant_id TEXT,
  user_id TEXT NOT NULL,
  worker_id TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;

CREATE TABLE sessions (
  secret_hash TEXT PRIMARY KEY,
  token_id TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_by_token ON sessions (token_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);
