-- Which files jobs name as their inputs, so that a file which was replaced stays for as long as a job may need it.
CREATE TABLE job_inputs (
  job_seq bigint NOT NULL,
  tenant_id text NOT NULL,
  folder_id text NOT NULL,
  object_key text NOT NULL,
  sha256 text NOT NULL,
  PRIMARY KEY (job_seq, folder_id, object_key, sha256)
);
CREATE INDEX job_inputs_by_file ON job_inputs (tenant_id, folder_id, object_key, sha256);

-- When another file took its name although jobs name this one. It goes when none of them is left.
ALTER TABLE objects ADD COLUMN replaced_at bigint;
CREATE INDEX objects_replaced ON objects (replaced_at) WHERE replaced_at IS NOT NULL;
