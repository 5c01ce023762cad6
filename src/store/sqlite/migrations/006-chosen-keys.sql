-- Producers that name their jobs by id, as the SDK does, are told apart from those that choose a key: the first are
-- found by the id, and the hash of an id need not be written into an index, each time to another page.
ALTER TABLE jobs ADD COLUMN is_key_chosen INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET is_key_chosen = 1 WHERE request_hash IS NOT NULL;
DROP INDEX jobs_by_idempotency_key;
CREATE UNIQUE INDEX jobs_by_idempotency_key ON jobs (tenant_id, idempotency_key) WHERE is_key_chosen = 1;
