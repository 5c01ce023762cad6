-- The limits of a job that are only the hub's defaults, separated by commas. Those of jobs of before count as asked for.
ALTER TABLE jobs ADD COLUMN limits_defaulted TEXT;
