-- The schema of version 0.1.0. An older database passes through that version first.

-- A job in the store is two rows. The one in `jobs` is written once: what was submitted, with its seal. The other one
-- says how far the job is, and moves: `ready` (can be claimed), `delayed` (waits for its time), `active` (a worker holds
-- it), `ended`. A table that only ever holds what its name says stays small, and its index is what a claim reads.
CREATE TABLE jobs (
  seq bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  queue_id integer NOT NULL,
  tenant_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  priority smallint NOT NULL,
  document_sha256 text NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL,
  is_key_chosen boolean NOT NULL,
  request_hash text,
  max_attempts integer NOT NULL,
  attempts_chosen boolean NOT NULL,
  limits_defaulted text,
  document_timeout_sec integer NOT NULL,
  document text,
  mac bytea,
  -- What lists show of a large document, so that a list need not read it.
  summary text
);

-- Only keys that a producer chose: one that was derived from the job's id is as unique as the id.
CREATE UNIQUE INDEX jobs_by_idempotency_key ON jobs (tenant_id, idempotency_key) WHERE is_key_chosen;
CREATE INDEX jobs_by_user ON jobs (tenant_id, user_id, seq);
-- Finds a job by the end of its id. The ends of ids are random, so the index has a part for every 1,024 jobs: new jobs
-- are then written to the same few pages.
CREATE INDEX jobs_by_id_end ON jobs ((seq >> 10), right(id, 6));

CREATE SEQUENCE job_seq;

CREATE TABLE ready (
  seq bigint PRIMARY KEY,
  queue_id integer NOT NULL,
  -- The priority, negated: the best job comes first.
  rank smallint NOT NULL,
  status text NOT NULL DEFAULT 'pending',
  attempt integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  timeout_sec integer NOT NULL,
  releases integer NOT NULL DEFAULT 0,
  retry_counts text NOT NULL DEFAULT '{}',
  queue_ttl_sec integer,
  created_at bigint NOT NULL,
  run_at bigint NOT NULL,
  -- When the hub must act if nothing happens before.
  due_at bigint,
  claimed_at bigint,
  started_at bigint,
  heartbeat_at bigint,
  completed_at bigint,
  cancel_requested_at bigint,
  worker_id text COLLATE "C",
  lease_token_hash text,
  lease_key_id text,
  lease_expires_at bigint,
  deadline_at bigint,
  event_count integer NOT NULL DEFAULT 1,
  exit_code integer,
  progress text,
  isolation text,
  usage text,
  output_files text,
  receipt text,
  fail_reason text,
  fail_code text,
  fail_detail text,
  fail_history text NOT NULL DEFAULT '[]',
  result_hash text,
  result_key text,
  result text,
  partial_result text
);

CREATE TABLE delayed (LIKE ready INCLUDING DEFAULTS, PRIMARY KEY (seq));
CREATE TABLE active (LIKE ready INCLUDING DEFAULTS, PRIMARY KEY (seq));
CREATE TABLE ended (LIKE ready INCLUDING DEFAULTS, PRIMARY KEY (seq));

CREATE INDEX ready_in_order ON ready (queue_id, rank, seq);
CREATE INDEX ready_due ON ready (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delayed_by_time ON delayed (run_at);
CREATE INDEX delayed_due ON delayed (due_at) WHERE due_at IS NOT NULL;
-- No index on due_at: heartbeats change it, and without one they write no index at all. The reaper looks at all of them.
CREATE INDEX active_by_worker ON active (worker_id);
CREATE INDEX ended_unsuccessful ON ended (status, seq) WHERE status IN ('failed', 'quarantined');

-- What comes and goes leaves dead rows behind, and a claim walks over them. They are removed after every few thousand,
-- however large the table is, and without pauses.
ALTER TABLE ready SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE delayed SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
-- Half of each page stays free, so that a heartbeat finds room on the page of its row.
ALTER TABLE active SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE VIEW job_states AS
  SELECT * FROM ready UNION ALL SELECT * FROM delayed UNION ALL SELECT * FROM active UNION ALL SELECT * FROM ended;

-- What attempts have written, as {"1":{"stdout":5,"stderr":0}}; how many bytes of it are kept; and through which attempt
-- the output was dropped to save space (0 = none).
CREATE TABLE job_outputs (
  seq bigint PRIMARY KEY,
  sizes text,
  bytes bigint NOT NULL DEFAULT 0,
  dropped_through integer NOT NULL DEFAULT 0
);
CREATE INDEX job_outputs_kept ON job_outputs (seq) WHERE bytes > 0;

CREATE TABLE small_outputs (
  job_seq bigint NOT NULL,
  attempt integer NOT NULL,
  stdout bytea NOT NULL,
  stderr bytea NOT NULL,
  PRIMARY KEY (job_seq, attempt)
);

-- A queue without jobs is as good as none; its row is deleted later, so that every hub sees first that it is empty.
-- `changed` is the version at which a hub that knows an earlier one has to read the row again.
CREATE TABLE queues (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE,
  tenant_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  pending bigint NOT NULL DEFAULT 0,
  active bigint NOT NULL DEFAULT 0,
  jobs bigint NOT NULL DEFAULT 0,
  changed bigint NOT NULL DEFAULT 0
);
CREATE INDEX queues_by_change ON queues (changed);
CREATE INDEX queues_by_tenant ON queues (tenant_id);

CREATE TABLE tenants (
  id text COLLATE "C" PRIMARY KEY,
  turn bigint NOT NULL,
  changed bigint NOT NULL
);
CREATE INDEX tenants_by_change ON tenants (changed);

CREATE TABLE quotas (
  tenant_id text COLLATE "C" PRIMARY KEY,
  quota text NOT NULL
);

CREATE TABLE paused_types (
  type text COLLATE "C" PRIMARY KEY
);

CREATE TABLE lockdown (
  one smallint PRIMARY KEY CHECK (one = 1),
  reason text NOT NULL,
  user_id text,
  since bigint NOT NULL
);

CREATE TABLE tenant_lockdowns (
  tenant_id text COLLATE "C" PRIMARY KEY,
  reason text NOT NULL,
  user_id text,
  since bigint NOT NULL
);

-- One row, which only `finish_group` and those who hold its lock change: the number of the last event, the version of all
-- that hubs share, the version of what administrators set, and the sums that would be slow to count.
CREATE TABLE log_state (
  one smallint PRIMARY KEY CHECK (one = 1),
  last bigint NOT NULL,
  version bigint NOT NULL,
  settings_version bigint NOT NULL,
  output_bytes bigint NOT NULL,
  pending bigint NOT NULL,
  assigned bigint NOT NULL,
  running bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  quarantined bigint NOT NULL,
  -- Jobs up to this number came from a database whose version stored any result_hash that a worker sent, so a result that
  -- does not match its hash is not necessarily damaged.
  unchecked_hash_seq bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
INSERT INTO log_state VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

CREATE TABLE owner_counts (
  tenant_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  pending bigint NOT NULL,
  assigned bigint NOT NULL,
  running bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  quarantined bigint NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
) WITH (fillfactor = 50);

-- The log is in partitions, so that its oldest part is given up without a look at its rows.
CREATE TABLE events (
  seq bigint NOT NULL,
  ts bigint NOT NULL,
  event text NOT NULL,
  tenant_id text COLLATE "C",
  job_id text COLLATE "C",
  owner_id text COLLATE "C",
  job_seq integer,
  details text NOT NULL,
  origin text,
  PRIMARY KEY (seq)
) PARTITION BY RANGE (seq);
CREATE INDEX events_by_job ON events (job_id, seq) WHERE job_id IS NOT NULL;

CREATE TABLE audit_seals (
  seq bigint NOT NULL,
  severity text NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (seq)
) PARTITION BY RANGE (seq);

CREATE TABLE audit_marks (
  seq bigint NOT NULL,
  audit text NOT NULL,
  hash text NOT NULL,
  ts bigint NOT NULL,
  key_id text NOT NULL,
  signature text NOT NULL,
  PRIMARY KEY (audit, seq)
);

CREATE TABLE workers (
  id text COLLATE "C" PRIMARY KEY,
  name text,
  facts text NOT NULL,
  slots integer NOT NULL,
  key_ids text NOT NULL,
  public_key text,
  version text,
  status text NOT NULL,
  blocked boolean NOT NULL,
  draining boolean NOT NULL,
  registered_at bigint NOT NULL,
  last_heartbeat bigint NOT NULL
) WITH (fillfactor = 50);

-- How many attempts of a worker have ended well and not. Apart from the worker: its row is changed by heartbeats, these
-- only under the lock of the log.
CREATE TABLE worker_counts (
  worker_id text COLLATE "C" PRIMARY KEY,
  completed bigint NOT NULL,
  failed bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE worker_metrics (
  worker_id text COLLATE "C" NOT NULL REFERENCES workers (id) ON DELETE CASCADE,
  ts bigint NOT NULL,
  metrics text NOT NULL,
  PRIMARY KEY (worker_id, ts)
);

CREATE TABLE tokens (
  number bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" PRIMARY KEY,
  secret_hash text NOT NULL UNIQUE,
  role text NOT NULL,
  tenant_id text,
  user_id text NOT NULL,
  worker_id text COLLATE "C",
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);
CREATE INDEX tokens_by_worker ON tokens (worker_id) WHERE worker_id IS NOT NULL;

CREATE TABLE sessions (
  secret_hash text PRIMARY KEY,
  token_id text COLLATE "C" NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  expires_at bigint NOT NULL
);
CREATE INDEX sessions_by_token ON sessions (token_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE TABLE login_codes (
  code_hash text PRIMARY KEY,
  token_id text COLLATE "C" NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  expires_at bigint NOT NULL
);

CREATE TABLE receipt_signatures (
  id text PRIMARY KEY,
  text text NOT NULL,
  signature text NOT NULL,
  worker_id text NOT NULL,
  public_key text,
  created_at bigint NOT NULL
);
CREATE INDEX receipt_signatures_by_time ON receipt_signatures (created_at);

-- What is left of a job that was forgotten.
CREATE TABLE receipts (
  job_seq bigint PRIMARY KEY,
  job_id text COLLATE "C" NOT NULL,
  document text NOT NULL,
  routing text NOT NULL,
  mac bytea NOT NULL,
  receipt text NOT NULL,
  ended_at bigint NOT NULL
);
CREATE INDEX receipts_by_job ON receipts (job_id, job_seq);
CREATE INDEX receipts_by_time ON receipts (ended_at);

CREATE TABLE log_readers (
  name text PRIMARY KEY,
  seq bigint NOT NULL,
  memory text NOT NULL
);

CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel text NOT NULL,
  subject text NOT NULL,
  body text NOT NULL,
  data text NOT NULL,
  created_at bigint NOT NULL,
  due_at bigint NOT NULL,
  tries integer NOT NULL
);
CREATE INDEX outbox_by_channel ON outbox (channel, id);

CREATE TABLE watched (
  subject text PRIMARY KEY,
  until bigint NOT NULL
);

CREATE TABLE statistics (
  tenant_id text COLLATE "C" NOT NULL,
  length_ms bigint NOT NULL,
  start bigint NOT NULL,
  period text NOT NULL,
  PRIMARY KEY (tenant_id, length_ms, start)
);
CREATE INDEX statistics_by_age ON statistics (length_ms, start);

CREATE TABLE objects (
  id text COLLATE "C" PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  folder_id text COLLATE "C" NOT NULL,
  object_key text COLLATE "C" NOT NULL,
  job_id text COLLATE "C",
  attempt integer,
  state text NOT NULL CHECK (state IN ('arriving', 'arrived', 'kept')),
  size bigint,
  sha256 text,
  created_at bigint NOT NULL,
  expires_at bigint,
  store_upload text
);
CREATE INDEX objects_by_key ON objects (tenant_id, folder_id, object_key, id);
CREATE INDEX objects_by_job ON objects (job_id, attempt, folder_id, object_key) WHERE job_id IS NOT NULL;
CREATE INDEX objects_by_expiry ON objects (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX objects_by_user ON objects (user_id, tenant_id, folder_id, object_key) WHERE job_id IS NULL;
CREATE INDEX objects_arriving ON objects (tenant_id) WHERE state = 'arriving';

CREATE TABLE object_usage (
  tenant_id text COLLATE "C" PRIMARY KEY,
  bytes bigint NOT NULL
);

-- One row: which database this is, and a check value of the key that seals its documents.
CREATE TABLE database_identity (
  one smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  id text NOT NULL,
  key_check text NOT NULL
);

-- The connections on which hubs write, each with the number of the last group that it has committed. Who lost the
-- connection before the answer came reads it here.
CREATE TABLE lanes (
  id uuid PRIMARY KEY,
  last_group bigint NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(),
  -- When the lane has last committed. The lanes of hubs that are gone are removed by it.
  used_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);

-- A hub that lost its connection around a commit notes its group in the row of its lane, unless it is there: then it was kept.
-- A transaction that the server had not finished then comes too late, and must not be kept any more: its hub has told
-- the callers that nothing was.
CREATE FUNCTION refuse_given_up_group() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'group % was given up by its hub', NEW.last_group USING ERRCODE = 'WR003';
END $$;
CREATE TRIGGER given_up_groups BEFORE UPDATE OF last_group ON lanes
  FOR EACH ROW WHEN (NEW.last_group <= OLD.last_group) EXECUTE FUNCTION refuse_given_up_group();

-- The hubs that serve this database, each with the process of the server that holds its seat. A row counts only while that
-- process lives and holds the lock of the seats; `seen_at` is for whoever comes when all of them are gone.
CREATE TABLE hubs (
  id uuid PRIMARY KEY,
  pid integer NOT NULL,
  name text NOT NULL,
  url text NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);

-- One row: how often the lead has been taken. What only a leader may do holds the row while it writes, so that nobody takes
-- the lead in the middle of it.
CREATE TABLE leader (
  one smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  term bigint NOT NULL
) WITH (fillfactor = 10);

-- At most one row: this database was moved, is being moved, or is being filled by a move. A hub uses none of these.
CREATE TABLE database_move (
  one smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  -- source or target.
  role text NOT NULL,
  database_id text NOT NULL,
  -- Where the other database is, without a password.
  other text NOT NULL,
  started_at bigint NOT NULL,
  ended_at bigint
);

-- How far a move has come in this target: the key of the last row of each part, as JSON.
CREATE TABLE move_progress (
  part text PRIMARY KEY,
  after text NOT NULL,
  rows bigint NOT NULL
);

-- The last statement of every transaction that logs or counts something. It takes the one lock of the log, numbers the
-- events, chains their seals and changes what all hubs share. The lock is released when the commit is visible, so the
-- order of the numbers is the order in which events become visible.
--
-- Counts, turns and limits come as columns, which are null if there are none. What seldom happens is JSON, which each look
-- into it parses again; with `forgotten_jobs` in it, owners without jobs go. The row of the lane that writes is changed here
-- too, which is one statement less in every transaction.
--
-- `seal` is the text of an event's seal with two marks in place of its number and of the hash before it; both are known
-- only here. Events are left without a seal while older ones have none.
CREATE FUNCTION finish_group(
  ts bigint[], event text[], tenant_id text[], job_id text[], owner_id text[], job_seq bigint[], details text[],
  origin text[], severity text[], seal text[], hash_mark text, seq_mark text,
  -- The sums of log_state: pending, assigned, running, completed, failed, quarantined, bytes of output.
  sums bigint[],
  queue_id bigint[], queue_jobs bigint[], queue_pending bigint[], queue_active bigint[],
  owner_tenant text[], owner_user text[], owner_pending bigint[], owner_assigned bigint[], owner_running bigint[],
  owner_completed bigint[], owner_failed bigint[], owner_quarantined bigint[],
  turn_tenant text[], turn bigint[],
  worker text[], worker_completed bigint[], worker_failed bigint[],
  limit_tenant text[], limit_pending bigint[], limit_active bigint[], limit_queues bigint[],
  lane uuid, lane_group bigint,
  seldom json
) RETURNS TABLE (last bigint, version bigint, output_bytes bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  n integer := cardinality($1);
  base bigint;
  state log_state;
  hash text;
  hashes text[] := '{}';
  changed integer;
BEGIN
  IF lane IS NOT NULL THEN
    UPDATE lanes SET last_group = lane_group, used_at = now() WHERE id = lane;
  END IF;
  PERFORM pg_advisory_xact_lock(1465010516, 1);
  UPDATE log_state SET last = log_state.last + n, version = log_state.version + 1,
      settings_version = CASE WHEN (seldom ->> 'settings')::boolean THEN log_state.version + 1 ELSE settings_version END,
      pending = pending + sums[1], assigned = assigned + sums[2], running = running + sums[3],
      completed = completed + sums[4], failed = failed + sums[5], quarantined = quarantined + sums[6],
      output_bytes = log_state.output_bytes + sums[7]
    RETURNING * INTO state;
  base := state.last - n;

  IF n > 0 THEN
    INSERT INTO events (seq, ts, event, tenant_id, job_id, owner_id, job_seq, details, origin)
      SELECT base + e.ord, e.ts, e.event, e.tenant_id, e.job_id, e.owner_id, e.job_seq, e.details, e.origin
      FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) WITH ORDINALITY
        AS e (ts, event, tenant_id, job_id, owner_id, job_seq, details, origin, ord);
    SELECT s.hash INTO hash FROM audit_seals s WHERE s.seq = base;
    IF hash IS NULL AND base = 0 THEN hash := repeat('0', 64); END IF;
    IF hash IS NOT NULL THEN
      FOR i IN 1 .. n LOOP
        hash := encode(sha256(convert_to(
          replace(replace($10[i], hash_mark, hash), seq_mark, (base + i)::text), 'UTF8')), 'hex');
        hashes[i] := hash;
      END LOOP;
      INSERT INTO audit_seals (seq, severity, hash)
        SELECT base + e.ord, e.severity, e.hash FROM unnest($9, hashes) WITH ORDINALITY AS e (severity, hash, ord);
    END IF;
  END IF;

  IF queue_id IS NOT NULL THEN
    UPDATE queues q SET jobs = q.jobs + d.jobs, pending = q.pending + d.pending, active = q.active + d.active,
        changed = state.version
      FROM unnest($14, $15, $16, $17) AS d (id, jobs, pending, active) WHERE q.id = d.id::integer;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed < cardinality($14) THEN
      RAISE EXCEPTION 'a queue was removed meanwhile' USING ERRCODE = 'WR001';
    END IF;
  END IF;
  IF owner_tenant IS NOT NULL THEN
    INSERT INTO owner_counts AS o
      SELECT d.* FROM unnest($18, $19, $20, $21, $22, $23, $24, $25) AS d
      ON CONFLICT (tenant_id, user_id) DO UPDATE SET pending = o.pending + excluded.pending,
        assigned = o.assigned + excluded.assigned, running = o.running + excluded.running,
        completed = o.completed + excluded.completed, failed = o.failed + excluded.failed,
        quarantined = o.quarantined + excluded.quarantined;
    IF (seldom ->> 'forgotten_jobs')::boolean THEN
      DELETE FROM owner_counts o USING unnest($18, $19) AS d (tenant_id, user_id)
        WHERE o.tenant_id = d.tenant_id AND o.user_id = d.user_id
          AND o.pending = 0 AND o.assigned = 0 AND o.running = 0 AND o.completed = 0 AND o.failed = 0
          AND o.quarantined = 0;
    END IF;
  END IF;
  IF turn_tenant IS NOT NULL THEN
    INSERT INTO tenants AS t SELECT d.id, d.turn, state.version FROM unnest($26, $27) AS d (id, turn)
      ON CONFLICT (id) DO UPDATE SET turn = greatest(t.turn, excluded.turn), changed = excluded.changed;
  END IF;
  IF worker IS NOT NULL THEN
    UPDATE worker_counts w SET completed = w.completed + d.completed, failed = w.failed + d.failed
      FROM unnest($28, $29, $30) AS d (id, completed, failed) WHERE w.worker_id = d.id;
  END IF;
  IF seldom IS NOT NULL AND seldom -> 'forgotten_workers' IS NOT NULL THEN
    DELETE FROM worker_counts WHERE worker_id IN (SELECT json_array_elements_text(seldom -> 'forgotten_workers'));
  END IF;
  -- Decided from what was known before the lock was taken. Whoever is over a limit now does it again under the lock.
  IF limit_tenant IS NOT NULL THEN
    PERFORM FROM unnest($31, $32, $33, $34) AS l (tenant_id, pending, active, queues)
      CROSS JOIN LATERAL (SELECT sum(q.pending) AS pending, sum(q.active) AS active,
        count(*) FILTER (WHERE q.pending > 0) AS queues FROM queues q WHERE q.tenant_id = l.tenant_id) AS now
      WHERE now.pending > l.pending OR now.active > l.active OR now.queues > l.queues;
    IF FOUND THEN RAISE EXCEPTION 'a quota was used up meanwhile' USING ERRCODE = 'WR002'; END IF;
  END IF;
  RETURN QUERY SELECT state.last, state.version, state.output_bytes;
END $$;

-- The log's partitions, of five million events each, from the one that holds the last event up to the one that holds
-- `through`. They are made apart and then attached, which lets others go on writing.
CREATE FUNCTION add_log_partitions(through bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  size bigint := 5000000;
  part bigint;
  parent text;
  name text;
BEGIN
  PERFORM pg_advisory_xact_lock(1465010516, 2);
  FOR part IN SELECT generate_series((SELECT last FROM log_state) / size, through / size) LOOP
    FOREACH parent IN ARRAY ARRAY['events', 'audit_seals'] LOOP
      name := parent || '_' || part;
      IF to_regclass(name) IS NULL THEN
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name, parent);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', parent, name,
          part * size, (part + 1) * size);
      END IF;
    END LOOP;
  END LOOP;
END $$;
SELECT add_log_partitions(5000000);

-- Gives up the partitions of the log whose events are all at or below `through`; returns how many events that were. The
-- seal of the last one stays, because the next record follows it, so the partition of its seals goes with the next one.
CREATE FUNCTION drop_log_partitions(through bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  size bigint := 5000000;
  part bigint;
  removed bigint := 0;
  found bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(1465010516, 2);
  FOR part IN SELECT substr(c.relname, 8)::bigint FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'events'::regclass ORDER BY 1 LOOP
    EXIT WHEN (part + 1) * size - 1 > through;
    EXECUTE format('SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM %I', 'events_' || part) INTO found;
    removed := removed + found;
    EXECUTE format('DROP TABLE %I', 'events_' || part);
    EXECUTE format('DROP TABLE IF EXISTS %I', 'audit_seals_' || (part - 1));
  END LOOP;
  RETURN removed;
END $$;

-- The words of a document's command, to be searched; none if it cannot be read.
CREATE FUNCTION command_words(document text) RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
DECLARE
  read json;
  list json;
BEGIN
  read := document::json;
  FOREACH list IN ARRAY ARRAY[read -> 'command', read #> '{run,argv}', read #> '{run,worker_command}'] LOOP
    IF json_typeof(list) = 'array' THEN RETURN QUERY SELECT json_array_elements_text(list); END IF;
    IF json_typeof(list) = 'string' THEN RETURN NEXT list #>> '{}'; END IF;
  END LOOP;
EXCEPTION WHEN data_exception THEN RETURN;
END $$;

-- The last entry of a history, as a list of one; an empty list if it cannot be read.
CREATE FUNCTION last_failure(history text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce(json_build_array(history::json -> -1)::text, '[]');
EXCEPTION WHEN data_exception THEN RETURN '[]';
END $$;

-- What attempts append. A stream of an attempt is a row here; its bytes are chunks, of which the oldest are moved into
-- segments outside of the database, if there is a place for them: below `in_segments` a byte is in a segment, from there on
-- in a chunk. `last_start` is where the last chunk begins, or the size if there is none.
--
-- `tail` says how much is in chunks: 0 little, 1 enough for a segment when nothing more comes, 2 enough for a whole one. It
-- changes seldom, so that nearly every append finds room on the page of its row and touches no index.
CREATE TABLE outputs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job_id text COLLATE "C" NOT NULL,
  attempt bigint NOT NULL,
  stream text COLLATE "C" NOT NULL CHECK (stream IN ('stdout', 'stderr')),
  size bigint NOT NULL,
  in_segments bigint NOT NULL DEFAULT 0,
  last_start bigint NOT NULL DEFAULT 0,
  tail smallint NOT NULL DEFAULT 0,
  appended_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (job_id, attempt, stream)
) WITH (fillfactor = 50);
CREATE INDEX outputs_with_tail ON outputs (tail, id) WHERE tail > 0;

CREATE TABLE output_chunks (
  output_id bigint NOT NULL,
  start bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (output_id, start)
);
-- Parts of a chunk are read without the rest, and no time is spent on compressing what may not be compressible.
ALTER TABLE output_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
-- Chunks come and go in the order of time; their dead rows are removed after every few thousand.
ALTER TABLE output_chunks SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 50000);

-- Every object outside of the database has a row from before it is made until after it was removed, so none is forgotten.
-- `arriving`: somebody is making it. `kept`: it has the only copy of its bytes. `gone`: nobody reads it, and it is to be
-- removed.
CREATE TABLE output_segments (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  output_id bigint NOT NULL,
  start bigint NOT NULL,
  size bigint NOT NULL,
  kept_in text NOT NULL CHECK (kept_in IN ('bucket', 'folder')),
  state text NOT NULL CHECK (state IN ('arriving', 'kept', 'gone')),
  made_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX output_segments_in_order ON output_segments (output_id, start);
CREATE UNIQUE INDEX output_segments_arriving ON output_segments (output_id) WHERE state = 'arriving';
CREATE INDEX output_segments_gone ON output_segments (id) WHERE state <> 'kept';

-- One row: what is written in a file of the folder that all hubs share, so that none mistakes another folder for it.
CREATE TABLE output_folder (
  one smallint PRIMARY KEY CHECK (one = 1),
  mark text NOT NULL
);

CREATE FUNCTION output_tail(bytes bigint, tail_max bigint, segment_bytes bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
  SELECT (CASE WHEN bytes >= segment_bytes THEN 2 WHEN bytes > tail_max THEN 1 ELSE 0 END)::smallint
$$;

-- Appends if the output has exactly `place` bytes. A chunk that is still small grows; what is large is cut. The row of the
-- output is locked before any of its chunks, here and everywhere else.
CREATE FUNCTION append_output(job text, nth bigint, which text, place bigint, added bytea, bounds bigint[])
RETURNS TABLE (is_appended boolean, size bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  chunk_min bigint := bounds[1];
  chunk_max bigint := bounds[2];
  n bigint := length(added);
  grows boolean;
  o outputs;
BEGIN
  SELECT * INTO o FROM outputs WHERE job_id = job AND attempt = nth AND stream = which FOR UPDATE;
  IF NOT FOUND AND place = 0 THEN
    INSERT INTO outputs (job_id, attempt, stream, size) VALUES (job, nth, which, 0) ON CONFLICT DO NOTHING;
    SELECT * INTO o FROM outputs WHERE job_id = job AND attempt = nth AND stream = which FOR UPDATE;
  END IF;
  IF o.id IS NULL OR o.size <> place THEN
    RETURN QUERY SELECT false, coalesce(o.size, 0);
    RETURN;
  END IF;
  IF n > 0 THEN
    grows := place > o.last_start AND place - o.last_start < chunk_min AND place - o.last_start + n <= chunk_max;
    IF grows THEN
      UPDATE output_chunks SET bytes = bytes || added WHERE output_id = o.id AND start = o.last_start;
    ELSE
      INSERT INTO output_chunks (output_id, start, bytes)
        SELECT o.id, place + at, CASE WHEN n <= chunk_max THEN added ELSE substring(added FROM at::int + 1 FOR chunk_max::int) END
        FROM generate_series(0, n - 1, chunk_max) AS at;
    END IF;
    UPDATE outputs SET size = place + n, appended_at = now(),
        last_start = CASE WHEN grows THEN last_start ELSE place + (n - 1) / chunk_max * chunk_max END,
        tail = output_tail(place + n - in_segments, bounds[3], bounds[4])
      WHERE id = o.id;
  END IF;
  RETURN QUERY SELECT true, place + n;
END $$;

-- The next segment to be made, if any: whole chunks, from the first one on. The last chunk of an output that grows may still
-- grow itself, and is left out.
CREATE FUNCTION claim_output_segment(place text, idle_ms bigint, segment_bytes bigint)
RETURNS TABLE (id uuid, output_id bigint, start bigint, size bigint, job_id text, attempt bigint, stream text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  o outputs;
  n bigint;
  made uuid;
BEGIN
  SELECT * INTO o FROM outputs q
    WHERE q.tail > 0 AND (q.tail = 2 OR q.appended_at < now() - idle_ms * interval '1 millisecond')
      AND NOT EXISTS (SELECT FROM output_segments s WHERE s.output_id = q.id AND s.state = 'arriving')
    ORDER BY q.tail DESC, q.id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT sum(c.bytes) INTO n FROM (
      SELECT length(k.bytes) AS bytes, sum(length(k.bytes)) OVER (ORDER BY k.start) AS through, k.start
      FROM output_chunks k WHERE k.output_id = o.id AND k.start < o.in_segments + segment_bytes) c
    WHERE c.through <= segment_bytes AND (o.tail < 2 OR c.start < o.last_start);
  IF n IS NULL THEN RETURN; END IF;
  INSERT INTO output_segments (output_id, start, size, kept_in, state)
    VALUES (o.id, o.in_segments, n, place, 'arriving') ON CONFLICT DO NOTHING RETURNING id INTO made;
  IF made IS NULL THEN RETURN; END IF;
  RETURN QUERY SELECT made, o.id, o.in_segments, n, o.job_id, o.attempt, o.stream;
END $$;

-- The object of a segment is complete: from now on it has the bytes, and the chunks are deleted. False if the output was
-- removed or has changed; then the object is not needed.
CREATE FUNCTION keep_output_segment(segment uuid, output bigint, bounds bigint[]) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  o outputs;
  s output_segments;
  n bigint;
BEGIN
  SELECT * INTO o FROM outputs WHERE id = output FOR UPDATE;
  SELECT * INTO s FROM output_segments WHERE id = segment AND state = 'arriving' FOR UPDATE;
  IF s.id IS NULL THEN RETURN false; END IF;
  SELECT sum(length(bytes)) INTO n FROM output_chunks
    WHERE output_id = output AND start >= s.start AND start < s.start + s.size;
  IF o.id IS NULL OR o.in_segments <> s.start OR n IS DISTINCT FROM s.size THEN
    UPDATE output_segments SET state = 'gone' WHERE id = segment;
    RETURN false;
  END IF;
  UPDATE output_segments SET state = 'kept' WHERE id = segment;
  DELETE FROM output_chunks WHERE output_id = output AND start >= s.start AND start < s.start + s.size;
  UPDATE outputs SET in_segments = s.start + s.size, last_start = greatest(last_start, s.start + s.size),
      tail = output_tail(size - s.start - s.size, bounds[3], bounds[4])
    WHERE id = output;
  RETURN true;
END $$;

-- Removes what attempts of a job have appended; all of them if none are named.
CREATE FUNCTION remove_outputs(job text, attempts bigint[]) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  gone bigint;
BEGIN
  FOR gone IN DELETE FROM outputs WHERE job_id = job AND (attempts IS NULL OR attempt = ANY (attempts)) RETURNING id LOOP
    DELETE FROM output_chunks WHERE output_id = gone;
    UPDATE output_segments SET state = 'gone' WHERE output_id = gone;
  END LOOP;
END $$;
