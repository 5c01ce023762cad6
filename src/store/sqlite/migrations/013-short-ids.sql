-- Finds a job by the end of its id. The ends of ids are random: in one large index each new job would be written to
-- another page, which halves the rate of inserts. So the index has a part for every 1,024 jobs, and a search looks into
-- each part.
CREATE INDEX jobs_by_id_end ON jobs (seq >> 10, substr(id, -6));
