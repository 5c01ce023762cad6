-- What is left of a job that was forgotten: its receipt, the document that it is for, and the seal over that document
-- with what the seal covers beside it. An id may be used again after its job is gone, so the job's number is the key.
CREATE TABLE receipts (
  job_seq INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  document TEXT NOT NULL,
  routing TEXT NOT NULL,
  mac BLOB NOT NULL,
  receipt TEXT NOT NULL,
  ended_at INTEGER NOT NULL
) STRICT;

CREATE INDEX receipts_by_job ON receipts (job_id, job_seq);
CREATE INDEX receipts_by_time ON receipts (ended_at);
