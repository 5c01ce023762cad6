-- The hubs that serve this database, each with the process of the server that holds its seat. A row counts only while that
-- process lives and holds the lock of the seats; `seen_at` is for whoever comes when all of them are gone.
CREATE TABLE hubs (
  id uuid PRIMARY KEY,
  pid integer NOT NULL,
  name text NOT NULL,
  url text NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);

-- One row: how often the lead has been taken. What only a leader may do holds the row while it writes, so that nobody takes
-- the lead in the middle of it.
CREATE TABLE leader (
  one smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  term bigint NOT NULL
) WITH (fillfactor = 10);
