-- The first schema of a file of group frames. Why: ADR 0116. Files of versions before it, which keep a row for each job and event, have
-- schemas below 1000; they are taken over into a new file.

-- One row for each group of acts that were committed together. `first_event` and `last_event` are the numbers of the events in
-- it; a frame without events has last_event = first_event - 1. Neither is ever lower than in the frame before. Of a frame of which nothing is
-- left, the head is only the MAC, and of several in a row there is one.
CREATE TABLE frames (
  number INTEGER PRIMARY KEY,
  first_event INTEGER NOT NULL,
  last_event INTEGER NOT NULL,
  head BLOB NOT NULL
) STRICT;

-- Which frames have events of a tenant, of a rare kind or of a severity above LOW, up to the tally `flushed_frame`.
CREATE TABLE traits (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE frame_traits (
  trait INTEGER NOT NULL,
  frame INTEGER NOT NULL,
  PRIMARY KEY (trait, frame)
) STRICT, WITHOUT ROWID;

-- Frames whose heads were found damaged: each was reported once.
CREATE TABLE damaged_frames (
  number INTEGER PRIMARY KEY
) STRICT;

-- The payloads of a frame, at 8 * number + the place of the payload in `payloadNames`. Each goes at its own time.
CREATE TABLE payloads (
  place INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

-- The index: what lists, claims and the reaper look for, and what becomes of a job. Everything that was submitted is in the line
-- and the document at (frame, place). Rows are true up to the frame in the tally `flushed_frame`.
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  queue_id INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  frame INTEGER NOT NULL,
  place INTEGER NOT NULL,
  -- The place of the state in `jobStates`.
  status INTEGER NOT NULL,
  -- 1: can be claimed; 0: waits for run_at; null: is not pending.
  ready INTEGER,
  due_at INTEGER,
  attempt INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  releases INTEGER NOT NULL,
  queue_ttl_sec INTEGER,
  created_at INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  claimed_at INTEGER,
  started_at INTEGER,
  heartbeat_at INTEGER,
  completed_at INTEGER,
  cancel_requested_at INTEGER,
  worker INTEGER,
  lease_token ANY,
  lease_key INTEGER,
  lease_expires_at INTEGER,
  deadline_at INTEGER,
  exit_code INTEGER,
  fail_code TEXT,
  fail_detail TEXT,
  event_count INTEGER NOT NULL,
  -- The newest line, if a retry has changed the timeout.
  line_frame INTEGER,
  line_place INTEGER,
  receipt_frame INTEGER,
  receipt_place INTEGER,
  -- The frames with its events, separated by commas; older ones are in `timelines`.
  event_frames TEXT NOT NULL,
  retry_counts TEXT,
  fail_history TEXT,
  fail_reason TEXT,
  progress TEXT,
  isolation TEXT,
  usage TEXT,
  output_files TEXT,
  result_hash ANY,
  result_key TEXT,
  partial_result TEXT,
  result TEXT
) STRICT;

CREATE UNIQUE INDEX jobs_by_id ON jobs (id);
CREATE INDEX jobs_by_owner ON jobs (owner, seq);
CREATE INDEX jobs_claimable ON jobs (queue_id, priority DESC, seq) WHERE ready = 1;
CREATE INDEX jobs_delayed ON jobs (run_at) WHERE ready = 0;
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_unsuccessful ON jobs (status, seq) WHERE status >= 4;
CREATE INDEX jobs_ended ON jobs (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX jobs_quarantined ON jobs (completed_at) WHERE status = 5;
-- Finds a job by the end of its id. The ends of ids are random: in one large index each new job would be written to
-- another page, which halves the rate of inserts. So the index has a part for every 128 jobs, and a search looks into each part.
CREATE INDEX jobs_by_id_end ON jobs (seq >> 7, substr(id, -3));

-- The user of a tenant whose jobs these are.
CREATE TABLE owners (
  number INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  UNIQUE (tenant_id, user_id)
) STRICT;

-- Workers and keys of leases, which rows name by number.
CREATE TABLE names (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- Only keys that a producer chose.
CREATE TABLE job_keys (
  tenant_id TEXT NOT NULL,
  key TEXT NOT NULL,
  job_seq INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_keys_by_job ON job_keys (job_seq);

-- The frames with events of a job that is gone, or has very many.
CREATE TABLE timelines (
  id BLOB NOT NULL,
  last_frame INTEGER NOT NULL,
  frames TEXT NOT NULL,
  PRIMARY KEY (id, last_frame)
) STRICT, WITHOUT ROWID;
CREATE INDEX timelines_by_frame ON timelines (last_frame);

-- Numbers of the log that were left out, with the hash that the next record follows.
CREATE TABLE skipped_events (
  through_seq INTEGER PRIMARY KEY,
  hash TEXT NOT NULL
) STRICT;

-- What lists show of a large document, so that a list need not read it. Small documents have none: they are read.
CREATE TABLE document_summaries (
  job_seq INTEGER PRIMARY KEY,
  summary TEXT NOT NULL
) STRICT;

-- What each attempt has written, as {"1":{"stdout":5,"stderr":0}}; how many bytes of it are kept; and through which attempt its output
-- was dropped to save space (0 = none). The sum of the kept bytes is the tally `output_bytes`.
CREATE TABLE job_outputs (
  job_seq INTEGER PRIMARY KEY,
  output_sizes TEXT,
  output_bytes INTEGER NOT NULL DEFAULT 0,
  output_dropped_through INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX job_outputs_kept ON job_outputs (job_seq) WHERE output_bytes > 0;

-- The output of attempts that wrote little, kept in the transaction of their end.
CREATE TABLE small_outputs (
  job_seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  stdout BLOB NOT NULL,
  stderr BLOB NOT NULL,
  PRIMARY KEY (job_seq, attempt)
) STRICT, WITHOUT ROWID;

-- Which files jobs name as their inputs, so that a file which was replaced stays for as long as a job may need it.
CREATE TABLE job_inputs (
  job_seq INTEGER NOT NULL,
  tenant_id TEXT NOT NULL,
  folder_id TEXT NOT NULL,
  object_key TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (job_seq, folder_id, object_key, sha256)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_inputs_by_file ON job_inputs (tenant_id, folder_id, object_key, sha256);

-- Jobs that are gone and had a receipt: where their line, document and receipt are.
CREATE TABLE kept_receipts (
  job_seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  line_frame INTEGER NOT NULL,
  line_place INTEGER NOT NULL,
  frame INTEGER NOT NULL,
  place INTEGER NOT NULL,
  receipt_frame INTEGER NOT NULL,
  receipt_place INTEGER NOT NULL,
  ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX kept_receipts_by_job ON kept_receipts (id, job_seq);
CREATE INDEX kept_receipts_by_time ON kept_receipts (ended_at);

-- Everything but jobs and events.

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
  failed INTEGER NOT NULL,
  -- How many claims it has refused as not authentic lately, and until when it is given nothing because of the last one.
  refused_claims INTEGER NOT NULL DEFAULT 0,
  paused_until INTEGER
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
  store_upload TEXT,
  -- The name of the bytes at their place: each request that brings some has its own, and the row says which is the file.
  -- Null while they arrive, and for a file of version 0.1, which was alone there.
  stored_as TEXT,
  -- When another file took its name although jobs name this one. It goes when none of them is left.
  replaced_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX objects_by_job ON objects (job_id, attempt, folder_id, object_key) WHERE job_id IS NOT NULL;
CREATE INDEX objects_by_expiry ON objects (expires_at) WHERE expires_at IS NOT NULL;
-- Uploads of users under one key, however many jobs have stored the same key; and how many uploads are not finished.
CREATE INDEX objects_by_user ON objects (user_id, tenant_id, folder_id, object_key) WHERE job_id IS NULL;
CREATE INDEX objects_arriving ON objects (tenant_id) WHERE state = 'arriving';
-- The file that was the last to arrive is the one that a key means.
CREATE INDEX objects_by_key ON objects (tenant_id, folder_id, object_key, created_at, id);
CREATE INDEX objects_replaced ON objects (replaced_at) WHERE replaced_at IS NOT NULL;

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
