-- Files that users and jobs store. The bytes are elsewhere, under the id: a row is written before its bytes are and
-- deleted after they are gone, so nothing is stored that no row knows.
CREATE TABLE objects (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  folder_id TEXT NOT NULL,
  object_key TEXT NOT NULL,
  -- The attempt that stores it; null for a user's upload.
  job_id TEXT,
  attempt INTEGER,
  -- arriving: bytes are missing; arrived: complete, but its attempt has not ended; kept: can be read.
  state TEXT NOT NULL CHECK (state IN ('arriving', 'arrived', 'kept')),
  -- As announced, or null; as measured once everything has arrived.
  size INTEGER,
  sha256 TEXT,
  created_at INTEGER NOT NULL,
  -- From then on it does not exist for anybody, and its bytes are removed; null: as long as its job exists.
  expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX objects_by_key ON objects (tenant_id, folder_id, object_key, id);
CREATE INDEX objects_by_job ON objects (job_id, attempt, folder_id, object_key) WHERE job_id IS NOT NULL;
CREATE INDEX objects_by_expiry ON objects (expires_at) WHERE expires_at IS NOT NULL;

-- The sum of the sizes of a tenant's objects, those that are still arriving included.
CREATE TABLE object_usage (
  tenant_id TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
