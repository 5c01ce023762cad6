-- The object store's own name for an upload in parts.
ALTER TABLE objects ADD COLUMN store_upload TEXT;
