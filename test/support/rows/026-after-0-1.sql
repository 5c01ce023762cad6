-- The name of the bytes at their place: each request that brings some has its own, and the row says which is the file.
-- Null while they arrive, and for a file of version 0.1, which was alone there.
ALTER TABLE objects ADD COLUMN stored_as TEXT;

-- The file that was the last to arrive is the one that a key means.
DROP INDEX objects_by_key;
CREATE INDEX objects_by_key ON objects (tenant_id, folder_id, object_key, created_at, id);
