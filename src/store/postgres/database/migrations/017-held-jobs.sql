-- Why: ADR 0136. Since when a person has held a job that waits. Such a job is in a table of its own.
ALTER TABLE ready ADD COLUMN held_at bigint;
ALTER TABLE delayed ADD COLUMN held_at bigint;
ALTER TABLE active ADD COLUMN held_at bigint;
ALTER TABLE ended ADD COLUMN held_at bigint;

CREATE TABLE held (LIKE ready INCLUDING DEFAULTS, PRIMARY KEY (seq));
CREATE INDEX held_due ON held (due_at) WHERE due_at IS NOT NULL;
ALTER TABLE held SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE OR REPLACE VIEW job_states AS
  SELECT * FROM ready UNION ALL SELECT * FROM delayed UNION ALL SELECT * FROM active UNION ALL SELECT * FROM ended
  UNION ALL SELECT * FROM held;
