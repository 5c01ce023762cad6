-- Why: ADR 0136. Since when a person has held a job that waits. Such a job has ready = 2.
ALTER TABLE jobs ADD COLUMN held_at INTEGER;
CREATE INDEX jobs_on_hold ON jobs (seq) WHERE ready = 2;
