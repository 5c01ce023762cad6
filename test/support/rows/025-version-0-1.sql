-- The schema of version 0.1.0. An older database passes through that version first. Columns and indexes are in the order in
-- which they came, so that a new database and one of that version are the same to SQLite's planner.

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
  partial_result TEXT,
  -- Which key of the hub signed the lease, so that a key that is revoked takes its leases with it.
  lease_key_id TEXT,
  -- What each attempt has written, as {"1":{"stdout":5,"stderr":0}}; how many bytes of it are kept; and through which
  -- attempt its output was dropped to save space (0 = none). The sum of the kept bytes is the tally `output_bytes`.
  output_sizes TEXT,
  output_bytes INTEGER NOT NULL DEFAULT 0,
  output_dropped_through INTEGER NOT NULL DEFAULT 0,
  -- Producers that name their jobs by id, as the SDK does, are told apart from those that choose a key: the first are
  -- found by the id.
  is_key_chosen INTEGER NOT NULL DEFAULT 0,
  -- Whether the producer chose max_attempts. Then only that total limits the retries.
  attempts_chosen INTEGER NOT NULL DEFAULT 0,
  -- The limits of a job that are only the hub's defaults, separated by commas.
  limits_defaulted TEXT
) STRICT;

CREATE INDEX jobs_by_user ON jobs (tenant_id, user_id, seq);
CREATE INDEX jobs_claimable ON jobs (queue_id, priority DESC, seq) WHERE ready = 1;
CREATE INDEX jobs_delayed ON jobs (run_at) WHERE ready = 0;
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_unsuccessful ON jobs (status, seq) WHERE status IN ('failed', 'quarantined');
CREATE INDEX jobs_ended ON jobs (completed_at) WHERE completed_at IS NOT NULL;
-- Only finished jobs that have output to give up, in the order in which it goes.
CREATE INDEX jobs_with_output ON jobs (completed_at) WHERE output_bytes > 0 AND completed_at IS NOT NULL;
-- Only keys that a producer chose: one that was derived from the job's id is as unique as the id, and writing its
-- hash into an index, each time to another page, took half of the time of an insert (36,000 against 62,000 rows/s).
CREATE UNIQUE INDEX jobs_by_idempotency_key ON jobs (tenant_id, idempotency_key) WHERE is_key_chosen = 1;
-- Only jobs that have failed are written to these. A tenant's failed jobs are found without those of others, and dead
-- letters by their end without looking at each of them.
CREATE INDEX jobs_unsuccessful_by_tenant ON jobs (tenant_id, status, seq) WHERE status IN ('failed', 'quarantined');
CREATE INDEX jobs_quarantined ON jobs (completed_at) WHERE status = 'quarantined';
-- Finds a job by the end of its id. The ends of ids are random: in one large index each new job would be written to
-- another page, which halves the rate of inserts. So the index has a part for every 128 jobs, which is one page, and a
-- search looks into each part: 45 ms in a million jobs.
CREATE INDEX jobs_by_id_end ON jobs (seq >> 7, substr(id, -6));

-- Apart from the job, because an update of a row writes the whole row again and documents may be large.
CREATE TABLE documents (
  job_seq INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
  document TEXT NOT NULL,
  mac BLOB NOT NULL
) STRICT;

-- What lists show of a large document, so that a list need not read it. Apart from the document: SQLite reads a column
-- behind a large one only by walking through all pages of the large one. Small documents have none: they are
-- read.
CREATE TABLE document_summaries (
  job_seq INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
  summary TEXT NOT NULL
) STRICT;

-- The output of attempts that wrote little, kept in the transaction of their end.
CREATE TABLE small_outputs (
  job_seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  stdout BLOB NOT NULL,
  stderr BLOB NOT NULL,
  PRIMARY KEY (job_seq, attempt)
) STRICT, WITHOUT ROWID;

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

-- At most one row: the hub is locked while it is there.
CREATE TABLE lockdown (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  reason TEXT NOT NULL,
  user_id TEXT,
  since INTEGER NOT NULL
) STRICT;

-- Tenants whose jobs are not given out. The hub's own lockdown, which stops everything, stays in `lockdown`.
CREATE TABLE tenant_lockdowns (
  tenant_id TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  user_id TEXT,
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How many jobs of each user are in each state. Counting them would read every one of them.
CREATE TABLE owner_counts (
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  pending INTEGER NOT NULL,
  assigned INTEGER NOT NULL,
  running INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  quarantined INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
) STRICT, WITHOUT ROWID;

-- Numbers that are kept rather than counted: the last seq of jobs and events (never given twice, even when the
-- newest rows are pruned), the last turn, and how many jobs are in each state.
CREATE TABLE tallies (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Jobs up to this number were accepted by a version that stored any result_hash that a worker sent, so a result that does
-- not match its hash is not necessarily damaged.
INSERT INTO tallies (name, value) VALUES ('unchecked_hash_seq', 0);

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

-- The hash chain over the event log: each hash covers its record and the hash before it. The severity is kept as it
-- was when the record was sealed, because it is part of what was hashed and the table of severities may change.
CREATE TABLE audit_seals (
  seq INTEGER PRIMARY KEY,
  severity TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;

-- Statements about the chain under the hub's signature: where it begins (`start`) and how far it had come (`head`).
CREATE TABLE audit_marks (
  seq INTEGER NOT NULL,
  audit TEXT NOT NULL,
  hash TEXT NOT NULL,
  ts INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (audit, seq)
) STRICT, WITHOUT ROWID;

-- Readers of the log that must not read an event twice after a restart, each with its place and what it remembers.
CREATE TABLE log_readers (
  name TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  memory TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Messages on their way out, in order for each channel. Bounded by the act that adds to it.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel TEXT NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL,
  data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  tries INTEGER NOT NULL
) STRICT;

CREATE INDEX outbox_by_channel ON outbox (channel, id);

-- Whose requests are recorded in full, and until when.
CREATE TABLE watched (
  subject TEXT PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

-- Until a worker registers, its name belongs to the tenant of the newest valid token that names it.
CREATE INDEX tokens_by_worker ON tokens (worker_id) WHERE worker_id IS NOT NULL;

CREATE TABLE sessions (
  secret_hash TEXT PRIMARY KEY,
  token_id TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_by_token ON sessions (token_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Codes of one-time links: each logs a browser in once, as the holder of the token.
CREATE TABLE login_codes (
  code_hash TEXT PRIMARY KEY,
  token_id TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One signature of a worker covers the receipts of a whole batch, so it is kept once and not in every job. The key is
-- kept with it, because a worker that stops is forgotten together with the key that it had registered.
CREATE TABLE receipt_signatures (
  id TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  signature TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  public_key TEXT,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX receipt_signatures_by_time ON receipt_signatures (created_at);

-- What is left of a job that was forgotten: its receipt, the document that it is for, and the seal over that document
-- with what the seal covers beside it. An id may be used again after its job is gone, so the job's number is the key.
CREATE TABLE receipts (
  job_seq INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  document TEXT NOT NULL,
  routing TEXT NOT NULL,
  mac BLOB NOT NULL,
  receipt TEXT NOT NULL,
  ended_at INTEGER NOT NULL
) STRICT;

CREATE INDEX receipts_by_job ON receipts (job_id, job_seq);
CREATE INDEX receipts_by_time ON receipts (ended_at);

-- What happened in a tenant during a time, as text that can be added. '' is all tenants together.
CREATE TABLE statistics (
  tenant_id TEXT NOT NULL,
  length_ms INTEGER NOT NULL,
  start INTEGER NOT NULL,
  period TEXT NOT NULL,
  PRIMARY KEY (tenant_id, length_ms, start)
) STRICT, WITHOUT ROWID;

CREATE INDEX statistics_by_age ON statistics (length_ms, start);

-- Files that users and jobs store. The bytes are elsewhere, under the id: a row is written before its bytes are and
-- deleted after they are gone, so nothing is stored that no row knows.
CREATE TABLE objects (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  folder_id TEXT NOT NULL,
  object_key TEXT NOT NULL,
  -- The attempt that stores it; null for a user's upload.
  job_id TEXT,
  attempt INTEGER,
  -- arriving: bytes are missing; arrived: complete, but its attempt has not ended; kept: can be read.
  state TEXT NOT NULL CHECK (state IN ('arriving', 'arrived', 'kept')),
  -- As announced, or null; as measured once everything has arrived.
  size INTEGER,
  sha256 TEXT,
  created_at INTEGER NOT NULL,
  -- From then on it does not exist for anybody, and its bytes are removed; null: as long as its job exists.
  expires_at INTEGER,
  -- The object store's own name for an upload in parts.
  store_upload TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX objects_by_key ON objects (tenant_id, folder_id, object_key, id);
CREATE INDEX objects_by_job ON objects (job_id, attempt, folder_id, object_key) WHERE job_id IS NOT NULL;
CREATE INDEX objects_by_expiry ON objects (expires_at) WHERE expires_at IS NOT NULL;
-- Uploads of users under one key, however many jobs have stored the same key; and how many uploads are not finished.
CREATE INDEX objects_by_user ON objects (user_id, tenant_id, folder_id, object_key) WHERE job_id IS NULL;
CREATE INDEX objects_arriving ON objects (tenant_id) WHERE state = 'arriving';

-- The sum of the sizes of a tenant's objects, those that are still arriving included.
CREATE TABLE object_usage (
  tenant_id TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row: which database this is, and a check value of the key that seals its documents. A copy of the file is the same
-- database; a hub with other keys must not use it.
CREATE TABLE database_identity (
  id TEXT PRIMARY KEY,
  key_check TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- At most one row: this database was moved, is being moved, or is being filled by a move. A hub uses none of these.
CREATE TABLE database_move (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  -- source or target.
  role TEXT NOT NULL,
  database_id TEXT NOT NULL,
  -- Where the other database is, without a password.
  other TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

-- How far a move has come in this target: the key of the last row of each part, as JSON.
CREATE TABLE move_progress (
  part TEXT PRIMARY KEY,
  after TEXT NOT NULL,
  rows INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
