-- The tables of the driver that writes group frames. Why: ADR 0116. It follows the newest schema of the driver beside it, whose
-- tables of everything but jobs and events it keeps.
DROP TABLE job_inputs;
DROP TABLE document_summaries;
DROP TABLE documents;
DROP TABLE small_outputs;
DROP TABLE receipts;
DROP TABLE jobs;
DROP TABLE events;
DROP TABLE audit_seals;

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
-- A part for every 128 jobs: see the first migration of the driver beside this one.
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

CREATE TABLE document_summaries (
  job_seq INTEGER PRIMARY KEY,
  summary TEXT NOT NULL
) STRICT;

-- What the attempts of a job have written, as in the driver beside this one.
CREATE TABLE job_outputs (
  job_seq INTEGER PRIMARY KEY,
  output_sizes TEXT,
  output_bytes INTEGER NOT NULL DEFAULT 0,
  output_dropped_through INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX job_outputs_kept ON job_outputs (job_seq) WHERE output_bytes > 0;

CREATE TABLE small_outputs (
  job_seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  stdout BLOB NOT NULL,
  stderr BLOB NOT NULL,
  PRIMARY KEY (job_seq, attempt)
) STRICT, WITHOUT ROWID;

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
