-- What only the hub reads of a job: lanes, retry policy, labels and the like. Null for a job that uses none of it.
ALTER TABLE jobs ADD COLUMN terms text;
