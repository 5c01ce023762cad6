-- Until a worker registers, its name belongs to the tenant of the newest valid token that names it.
CREATE INDEX tokens_by_worker ON tokens (worker_id) WHERE worker_id IS NOT NULL;
