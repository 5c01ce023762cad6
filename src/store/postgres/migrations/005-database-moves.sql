-- At most one row: this database was moved, is being moved, or is being filled by a move. A hub uses none of these.
CREATE TABLE database_move (
  one smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  -- source or target.
  role text NOT NULL,
  database_id text NOT NULL,
  -- Where the other database is, without a password.
  other text NOT NULL,
  started_at bigint NOT NULL,
  ended_at bigint
);

-- How far a move has come in this target: the key of the last row of each part, as JSON.
CREATE TABLE move_progress (
  part text PRIMARY KEY,
  after text NOT NULL,
  rows bigint NOT NULL
);

-- Jobs up to this number came from a database whose version stored any result_hash that a worker sent, so a result that
-- does not match its hash is not necessarily damaged.
ALTER TABLE log_state ADD COLUMN unchecked_hash_seq bigint NOT NULL DEFAULT 0;
