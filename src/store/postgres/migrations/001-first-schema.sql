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
  quarantined bigint NOT NULL
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
  opened_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);

-- The last statement of every transaction that logs or counts something. It takes the one lock of the log, numbers the
-- events, chains their seals and changes what all hubs share. The lock is released when the commit is visible, so the
-- order of the numbers is the order in which events become visible.
--
-- `seal` is the text of an event's seal with two marks in place of its number and of the hash before it; both are known
-- only here. Events are left without a seal while older ones have none.
CREATE FUNCTION finish_group(work json) RETURNS TABLE (last bigint, version bigint, output_bytes bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  n integer := json_array_length(work -> 'events');
  base bigint;
  state log_state;
  hash text;
  hashes text[] := '{}';
  i integer := 0;
  seal text;
  hash_mark text := work ->> 'hash_mark';
  seq_mark text := work ->> 'seq_mark';
  limit_row record;
BEGIN
  PERFORM pg_advisory_xact_lock(1465010516, 1);
  UPDATE log_state SET last = log_state.last + n, version = log_state.version + 1,
      settings_version = CASE WHEN (work ->> 'settings')::boolean THEN log_state.version + 1 ELSE settings_version END,
      output_bytes = log_state.output_bytes + coalesce((work ->> 'output_bytes')::bigint, 0),
      pending = pending + coalesce((work -> 'states' ->> 'pending')::bigint, 0),
      assigned = assigned + coalesce((work -> 'states' ->> 'assigned')::bigint, 0),
      running = running + coalesce((work -> 'states' ->> 'running')::bigint, 0),
      completed = completed + coalesce((work -> 'states' ->> 'completed')::bigint, 0),
      failed = failed + coalesce((work -> 'states' ->> 'failed')::bigint, 0),
      quarantined = quarantined + coalesce((work -> 'states' ->> 'quarantined')::bigint, 0)
    RETURNING * INTO state;
  base := state.last - n;

  IF n > 0 THEN
    INSERT INTO events (seq, ts, event, tenant_id, job_id, owner_id, job_seq, details, origin)
      SELECT base + e.ord, e.ts, e.event, e.tenant_id, e.job_id, e.owner_id, e.job_seq, e.details, e.origin
      FROM ROWS FROM (json_to_recordset(work -> 'events') AS (ts bigint, event text, tenant_id text, job_id text,
        owner_id text, job_seq integer, details text, origin text)) WITH ORDINALITY
        AS e (ts, event, tenant_id, job_id, owner_id, job_seq, details, origin, ord);
    SELECT s.hash INTO hash FROM audit_seals s WHERE s.seq = base;
    IF hash IS NULL AND base = 0 THEN hash := repeat('0', 64); END IF;
    IF hash IS NOT NULL THEN
      FOR seal IN SELECT e.seal FROM json_to_recordset(work -> 'events') AS e (seal text) LOOP
        i := i + 1;
        seal := replace(replace(seal, hash_mark, hash), seq_mark, (base + i)::text);
        hash := encode(sha256(convert_to(seal, 'UTF8')), 'hex');
        hashes[i] := hash;
      END LOOP;
      INSERT INTO audit_seals (seq, severity, hash)
        SELECT base + e.ord, e.severity, hashes[e.ord]
        FROM ROWS FROM (json_to_recordset(work -> 'events') AS (severity text)) WITH ORDINALITY AS e (severity, ord);
    END IF;
  END IF;

  IF work -> 'queues' IS NOT NULL THEN
    UPDATE queues q SET jobs = q.jobs + d.jobs, pending = q.pending + d.pending, active = q.active + d.active,
        changed = state.version
      FROM json_to_recordset(work -> 'queues') AS d (id integer, jobs bigint, pending bigint, active bigint)
      WHERE q.id = d.id;
    GET DIAGNOSTICS i = ROW_COUNT;
    IF i < json_array_length(work -> 'queues') THEN
      RAISE EXCEPTION 'a queue was removed meanwhile' USING ERRCODE = 'WR001';
    END IF;
  END IF;
  IF work -> 'owners' IS NOT NULL THEN
    INSERT INTO owner_counts AS o
      SELECT d.* FROM json_to_recordset(work -> 'owners') AS d (tenant_id text, user_id text, pending bigint,
        assigned bigint, running bigint, completed bigint, failed bigint, quarantined bigint)
      ON CONFLICT (tenant_id, user_id) DO UPDATE SET pending = o.pending + excluded.pending,
        assigned = o.assigned + excluded.assigned, running = o.running + excluded.running,
        completed = o.completed + excluded.completed, failed = o.failed + excluded.failed,
        quarantined = o.quarantined + excluded.quarantined;
  END IF;
  IF work -> 'turns' IS NOT NULL THEN
    INSERT INTO tenants AS t SELECT d.id, d.turn, state.version
      FROM json_to_recordset(work -> 'turns') AS d (id text, turn bigint)
      ON CONFLICT (id) DO UPDATE SET turn = greatest(t.turn, excluded.turn), changed = excluded.changed;
  END IF;
  IF work -> 'workers' IS NOT NULL THEN
    UPDATE worker_counts w SET completed = w.completed + d.completed, failed = w.failed + d.failed
      FROM json_to_recordset(work -> 'workers') AS d (id text, completed bigint, failed bigint)
      WHERE w.worker_id = d.id;
  END IF;
  IF work -> 'forgotten_workers' IS NOT NULL THEN
    DELETE FROM worker_counts WHERE worker_id IN (SELECT json_array_elements_text(work -> 'forgotten_workers'));
  END IF;
  -- Decided from what was known before the lock was taken. Whoever is over a limit now does it again under the lock.
  IF work -> 'limits' IS NOT NULL THEN
    FOR limit_row IN SELECT l.tenant_id, l.pending, l.active, sum(q.pending) AS pending_now, sum(q.active) AS active_now
      FROM json_to_recordset(work -> 'limits') AS l (tenant_id text, pending bigint, active bigint)
      JOIN queues q ON q.tenant_id = l.tenant_id GROUP BY 1, 2, 3 LOOP
      IF limit_row.pending_now > limit_row.pending OR limit_row.active_now > limit_row.active THEN
        RAISE EXCEPTION 'a quota was used up meanwhile' USING ERRCODE = 'WR002';
      END IF;
    END LOOP;
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
