-- Whether the producer chose max_attempts. Then only that total limits the retries; jobs of before keep to their classes.
ALTER TABLE jobs ADD COLUMN attempts_chosen INTEGER NOT NULL DEFAULT 0;
