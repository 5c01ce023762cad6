-- Only jobs that have failed are written to these. A tenant's failed jobs are found without those of others, and dead
-- letters by their end without looking at each of them.
CREATE INDEX jobs_unsuccessful_by_tenant ON jobs (tenant_id, status, seq) WHERE status IN ('failed', 'quarantined');
CREATE INDEX jobs_quarantined ON jobs (completed_at) WHERE status = 'quarantined';
