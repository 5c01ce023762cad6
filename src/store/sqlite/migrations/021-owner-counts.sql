-- How many jobs of each user are in each state. Counting them would read every one of them.
CREATE TABLE owner_counts (
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  pending INTEGER NOT NULL,
  assigned INTEGER NOT NULL,
  running INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  quarantined INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
) STRICT, WITHOUT ROWID;

INSERT INTO owner_counts
  SELECT tenant_id, user_id,
    sum(status = 'pending'), sum(status = 'assigned'), sum(status = 'running'),
    sum(status = 'completed'), sum(status = 'failed'), sum(status = 'quarantined')
  FROM jobs GROUP BY tenant_id, user_id;
