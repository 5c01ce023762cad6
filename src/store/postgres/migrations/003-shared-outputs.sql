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
