-- What each attempt has said, as {"1":{"stdout":5,"stderr":0}}; how many bytes of it are kept; and through which attempt
-- its output was dropped to save space (0 = none). The sum of the kept bytes is the tally `output_bytes`.
ALTER TABLE jobs ADD COLUMN output_sizes TEXT;
ALTER TABLE jobs ADD COLUMN output_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN output_dropped_through INTEGER NOT NULL DEFAULT 0;

-- Only finished jobs that have output to give up, in the order in which it goes.
CREATE INDEX jobs_with_output ON jobs (completed_at) WHERE output_bytes > 0 AND completed_at IS NOT NULL;
