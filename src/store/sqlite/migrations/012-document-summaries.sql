-- What lists show of a large document, so that a list need not read it. Apart from the document: SQLite reads a column
-- behind a large one only by walking through all pages of the large one. Small documents, and those of jobs from before
-- this step, have none: they are read.
CREATE TABLE document_summaries (
  job_seq INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
  summary TEXT NOT NULL
) STRICT;
