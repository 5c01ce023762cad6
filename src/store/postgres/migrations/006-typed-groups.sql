-- `finish_group` as before, but without JSON, which each look into it parses again: counts, turns and limits come as columns,
-- which are null if there are none. What seldom happens is still JSON. The row of the lane that writes is changed here too,
-- which is one statement less in every transaction.
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
