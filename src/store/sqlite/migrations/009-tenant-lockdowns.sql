-- Tenants whose jobs are not given out. The hub's own lockdown, which stops everything, stays in `lockdown`.
CREATE TABLE tenant_lockdowns (
  tenant_id TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  user_id TEXT,
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
