-- How many claims a worker has refused as not authentic lately, and until when it is given nothing because of the last one.
ALTER TABLE workers ADD COLUMN refused_claims INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN paused_until INTEGER;
