-- The output of attempts that wrote little, kept in the transaction of their end.
CREATE TABLE small_outputs (
  job_seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  stdout BLOB NOT NULL,
  stderr BLOB NOT NULL,
  PRIMARY KEY (job_seq, attempt)
) STRICT, WITHOUT ROWID;
