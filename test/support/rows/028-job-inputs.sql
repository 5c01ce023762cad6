-- Which files jobs name as their inputs, so that a file which was replaced stays for as long as a job may need it.
CREATE TABLE job_inputs (
  job_seq INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
  tenant_id TEXT NOT NULL,
  folder_id TEXT NOT NULL,
  object_key TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (job_seq, folder_id, object_key, sha256)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_inputs_by_file ON job_inputs (tenant_id, folder_id, object_key, sha256);

-- When another file took its name although jobs name this one. It goes when none of them is left.
ALTER TABLE objects ADD COLUMN replaced_at INTEGER;
CREATE INDEX objects_replaced ON objects (replaced_at) WHERE replaced_at IS NOT NULL;
