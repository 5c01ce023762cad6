-- The forms of `finish_group` that hubs from before version 0.1.0 called. A new database never had them.
DROP FUNCTION IF EXISTS finish_group(json);
DROP FUNCTION IF EXISTS finish_group(bigint[], text[], text[], text[], text[], bigint[], text[], text[], text[], text[], json);
