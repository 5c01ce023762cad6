-- Which jobs have a label, and which say themselves when they are deleted: both are in the terms of the job too. Why: ADR 0139.
CREATE TABLE job_labels (
  tenant_id TEXT NOT NULL,
  label TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, label, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_labels_by_job ON job_labels (seq);

-- Only jobs that have ended.
CREATE TABLE kept_jobs (
  seq INTEGER PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT;

CREATE INDEX kept_jobs_by_time ON kept_jobs (until);

CREATE INDEX order_occurrences_by_job ON order_occurrences (job_id) WHERE job_id IS NOT NULL;
