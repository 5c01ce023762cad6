-- At most one row: this database was moved, is being moved, or is being filled by a move. A hub uses none of these.
CREATE TABLE database_move (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  -- source or target.
  role TEXT NOT NULL,
  database_id TEXT NOT NULL,
  -- Where the other database is, without a password.
  other TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

-- How far a move has come in this target: the key of the last row of each part, as JSON.
CREATE TABLE move_progress (
  part TEXT PRIMARY KEY,
  after TEXT NOT NULL,
  rows INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
