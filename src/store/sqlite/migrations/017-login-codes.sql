-- Codes of one-time links: each logs a browser in once, as the holder of the token.
CREATE TABLE login_codes (
  code_hash TEXT PRIMARY KEY,
  token_id TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
