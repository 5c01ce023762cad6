-- What coding agents of a tenant have used on the latest UTC day on which one told anything; dollars in millionths. Why: ADR 0145.
CREATE TABLE agent_spending (
  tenant_id text PRIMARY KEY,
  day text NOT NULL,
  usd bigint NOT NULL,
  tokens bigint NOT NULL,
  tool_calls bigint NOT NULL
);
