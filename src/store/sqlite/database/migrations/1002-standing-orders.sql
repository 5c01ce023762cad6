-- What makes a hub act by itself: schedules, webhooks and hooks. `seal` covers all other columns. `place` is how far the order has
-- come: a time, or a number of the log. Why: ADR 0130.
CREATE TABLE standing_orders (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL,
  user_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  next_at INTEGER,
  place INTEGER NOT NULL,
  state TEXT NOT NULL,
  seal TEXT NOT NULL,
  UNIQUE (kind, tenant_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX standing_orders_due ON standing_orders (kind, next_at) WHERE next_at IS NOT NULL;

-- What became of each occurrence: the job that it made, once, or why it made none. Rows of changes that are long past are removed.
CREATE TABLE order_occurrences (
  order_id TEXT NOT NULL,
  occurrence TEXT NOT NULL,
  at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  job_id TEXT,
  ts INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  PRIMARY KEY (order_id, occurrence)
) STRICT, WITHOUT ROWID;

CREATE INDEX order_occurrences_by_age ON order_occurrences (order_id, revision, at);
