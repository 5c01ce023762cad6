-- What makes a hub act by itself: schedules, webhooks and hooks. `seal` covers all other columns. `place` is how far the order has
-- come: a time, or a number of the log. Why: ADR 0130.
CREATE TABLE standing_orders (
  id text PRIMARY KEY,
  kind text NOT NULL,
  tenant_id text NOT NULL,
  name text NOT NULL,
  user_id text NOT NULL,
  revision bigint NOT NULL,
  next_at bigint,
  place bigint NOT NULL,
  state text NOT NULL,
  seal text NOT NULL,
  UNIQUE (kind, tenant_id, name)
);

CREATE INDEX standing_orders_due ON standing_orders (kind, next_at) WHERE next_at IS NOT NULL;

-- What became of each occurrence: the job that it made, once, or why it made none. Rows of changes that are long past are removed.
CREATE TABLE order_occurrences (
  order_id text NOT NULL,
  occurrence text NOT NULL,
  at bigint NOT NULL,
  outcome text NOT NULL,
  job_id text,
  ts bigint NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (order_id, occurrence)
);

CREATE INDEX order_occurrences_by_age ON order_occurrences (order_id, revision, at);
