-- Uploads of users under one key, however many jobs have stored the same key; and how many uploads are not finished.
CREATE INDEX objects_by_user ON objects (user_id, tenant_id, folder_id, object_key) WHERE job_id IS NULL;
CREATE INDEX objects_arriving ON objects (tenant_id) WHERE state = 'arriving';
