-- Which job has a unique key. Only where to look: whether the job still has it, its row and its terms say. Why: ADR 0140.
CREATE TABLE unique_keys (
  tenant_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (tenant_id, key)
);

CREATE INDEX unique_keys_by_job ON unique_keys (seq);
