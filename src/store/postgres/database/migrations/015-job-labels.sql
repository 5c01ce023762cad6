-- Which jobs have a label, and which say themselves when they are deleted: both are in the terms of the job too. Why: ADR 0139.
CREATE TABLE job_labels (
  tenant_id text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (tenant_id, label, seq)
);

CREATE INDEX job_labels_by_job ON job_labels (seq);

-- Only jobs that have ended.
CREATE TABLE kept_jobs (
  seq bigint PRIMARY KEY,
  until bigint NOT NULL
);

CREATE INDEX kept_jobs_by_time ON kept_jobs (until);

CREATE INDEX order_occurrences_by_job ON order_occurrences (job_id) WHERE job_id IS NOT NULL;
