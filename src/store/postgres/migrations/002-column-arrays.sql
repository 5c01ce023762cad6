-- The last statement of a group, as before, with its events as columns. As JSON, the whole of them was parsed again for
-- each thing that was looked up in it, most of that under the lock. The function of the version before stays for hubs that
-- have not been replaced yet.
--
-- `limits` may also say how many queues of a tenant may hold pending jobs. With `forgotten_jobs`, owners without jobs go.
CREATE FUNCTION finish_group(ts bigint[], event text[], tenant_id text[], job_id text[], owner_id text[],
  job_seq bigint[], details text[], origin text[], severity text[], seal text[], work json)
RETURNS TABLE (last bigint, version bigint, output_bytes bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  n integer := cardinality($1);
  states json := work -> 'states';
  base bigint;
  state log_state;
  hash text;
  hashes text[] := '{}';
  hash_mark text := work ->> 'hash_mark';
  seq_mark text := work ->> 'seq_mark';
  changed integer;
BEGIN
  PERFORM pg_advisory_xact_lock(1465010516, 1);
  UPDATE log_state SET last = log_state.last + n, version = log_state.version + 1,
      settings_version = CASE WHEN (work ->> 'settings')::boolean THEN log_state.version + 1 ELSE settings_version END,
      output_bytes = log_state.output_bytes + coalesce((work ->> 'output_bytes')::bigint, 0),
      pending = pending + coalesce((states ->> 'pending')::bigint, 0),
      assigned = assigned + coalesce((states ->> 'assigned')::bigint, 0),
      running = running + coalesce((states ->> 'running')::bigint, 0),
      completed = completed + coalesce((states ->> 'completed')::bigint, 0),
      failed = failed + coalesce((states ->> 'failed')::bigint, 0),
      quarantined = quarantined + coalesce((states ->> 'quarantined')::bigint, 0)
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

  IF work -> 'queues' IS NOT NULL THEN
    UPDATE queues q SET jobs = q.jobs + d.jobs, pending = q.pending + d.pending, active = q.active + d.active,
        changed = state.version
      FROM json_to_recordset(work -> 'queues') AS d (id integer, jobs bigint, pending bigint, active bigint)
      WHERE q.id = d.id;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed < json_array_length(work -> 'queues') THEN
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
    IF (work ->> 'forgotten_jobs')::boolean THEN
      DELETE FROM owner_counts o USING json_to_recordset(work -> 'owners') AS d (tenant_id text, user_id text)
        WHERE o.tenant_id = d.tenant_id AND o.user_id = d.user_id
          AND o.pending = 0 AND o.assigned = 0 AND o.running = 0 AND o.completed = 0 AND o.failed = 0
          AND o.quarantined = 0;
    END IF;
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
    PERFORM FROM json_to_recordset(work -> 'limits') AS l (tenant_id text, pending bigint, active bigint, queues bigint)
      JOIN queues q ON q.tenant_id = l.tenant_id GROUP BY l.tenant_id, l.pending, l.active, l.queues
      HAVING sum(q.pending) > l.pending OR sum(q.active) > l.active OR count(*) FILTER (WHERE q.pending > 0) > l.queues;
    IF FOUND THEN RAISE EXCEPTION 'a quota was used up meanwhile' USING ERRCODE = 'WR002'; END IF;
  END IF;
  RETURN QUERY SELECT state.last, state.version, state.output_bytes;
END $$;

-- When the lane has last committed. The lanes of hubs that are gone are removed by it.
ALTER TABLE lanes ADD COLUMN used_at timestamptz NOT NULL DEFAULT now();
