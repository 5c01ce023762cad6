-- Which job has a unique key. Only where to look: whether the job still has it, its row and its terms say. Why: ADR 0140.
CREATE TABLE unique_keys (
  tenant_id TEXT NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
