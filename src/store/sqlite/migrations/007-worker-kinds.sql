-- A worker now says which kinds of job it runs, its sessions, its containers and the document format that it reads. Until
-- a worker that was registered before does so, it is given what every worker of version 0.1 can run.
UPDATE workers SET facts = json_set(
  json_remove(facts, '$.session'),
  '$.kinds', json('["exec","handler"]'),
  '$.sessions', json(iif(json_extract(facts, '$.session') IS NULL, '[]', json_array(json_extract(facts, '$.session')))),
  '$.containers', json('[]'),
  '$.documentFormat', 1
);
