-- What coding agents of a tenant have used on the latest UTC day on which one told anything; dollars in millionths. Why: ADR 0145.
CREATE TABLE agent_spending (
  tenant_id TEXT PRIMARY KEY,
  day TEXT NOT NULL,
  usd INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
