-- Why: ADR 0137. A lane, with how many of its jobs have places now.
CREATE TABLE job_lanes (
  id INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL,
  user_id TEXT NOT NULL,
  max_running INTEGER,
  rate_limit INTEGER,
  period_sec INTEGER NOT NULL,
  burst INTEGER NOT NULL,
  active INTEGER NOT NULL,
  starts_us INTEGER NOT NULL,
  -- How many jobs that have not ended name it.
  jobs INTEGER NOT NULL,
  -- When time alone changes something; null for never.
  opens_at INTEGER,
  UNIQUE (tenant_id, name)
) STRICT;
CREATE INDEX job_lanes_by_time ON job_lanes (opens_at) WHERE opens_at IS NOT NULL;

-- The places that attempts have, or had until a moment ago.
CREATE TABLE lane_places (
  lane_id INTEGER NOT NULL,
  job_seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  job_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  until INTEGER,
  PRIMARY KEY (lane_id, job_seq, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX lane_places_by_time ON lane_places (lane_id, until) WHERE until IS NOT NULL;

-- Pending jobs, in each of their lanes. stands: 0 waits for a place of this lane, 1 can be claimed, 2 waits in another lane.
CREATE TABLE lane_line (
  lane_id INTEGER NOT NULL,
  stands INTEGER NOT NULL,
  queue_id INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  job_seq INTEGER NOT NULL,
  PRIMARY KEY (job_seq, lane_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lane_line_in_order ON lane_line (lane_id, stands, queue_id, rank, job_seq);

-- Jobs that wait for a place in a lane have ready = 3.
CREATE INDEX jobs_in_line ON jobs (seq) WHERE ready = 3;
