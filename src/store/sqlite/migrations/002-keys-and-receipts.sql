-- Which key of the hub signed the lease, so that a key that is revoked takes its leases with it.
ALTER TABLE jobs ADD COLUMN lease_key_id TEXT;

-- One signature of a worker covers the receipts of a whole batch, so it is kept once and not in every job. The key is
-- kept with it, because a worker that stops is forgotten together with the key that it had registered.
CREATE TABLE receipt_signatures (
  id TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  signature TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  public_key TEXT,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX receipt_signatures_by_time ON receipt_signatures (created_at);
