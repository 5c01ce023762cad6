-- One row: which database this is, and a check value of the key that seals its documents. A copy of the file is the same
-- database; a hub with other keys must not use it.
CREATE TABLE database_identity (
  id TEXT PRIMARY KEY,
  key_check TEXT NOT NULL
) STRICT, WITHOUT ROWID;
