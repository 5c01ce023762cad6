-- The hash chain over the event log: each hash covers its record and the hash before it. The severity is kept as it
-- was when the record was sealed, because it is part of what was hashed and the table of severities may change.
CREATE TABLE audit_seals (
  seq INTEGER PRIMARY KEY,
  severity TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;

-- Statements about the chain under the hub's signature: where it begins (`start`) and how far it had come (`head`).
CREATE TABLE audit_marks (
  seq INTEGER NOT NULL,
  audit TEXT NOT NULL,
  hash TEXT NOT NULL,
  ts INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (audit, seq)
) STRICT, WITHOUT ROWID;

-- Readers of the log that must not read an event twice after a restart, each with its place and what it remembers.
CREATE TABLE log_readers (
  name TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  memory TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Messages on their way out, in order for each channel. Bounded by the act that adds to it.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel TEXT NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL,
  data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  tries INTEGER NOT NULL
) STRICT;

CREATE INDEX outbox_by_channel ON outbox (channel, id);

-- Whose requests are recorded in full, and until when.
CREATE TABLE watched (
  subject TEXT PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- At most one row: the hub is locked while it is there.
CREATE TABLE lockdown (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  reason TEXT NOT NULL,
  user_id TEXT,
  since INTEGER NOT NULL
) STRICT;
