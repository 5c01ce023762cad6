-- What happened in a tenant during a time, as text that can be added. '' is all tenants together.
CREATE TABLE statistics (
  tenant_id TEXT NOT NULL,
  length_ms INTEGER NOT NULL,
  start INTEGER NOT NULL,
  period TEXT NOT NULL,
  PRIMARY KEY (tenant_id, length_ms, start)
) STRICT, WITHOUT ROWID;

CREATE INDEX statistics_by_age ON statistics (length_ms, start);
