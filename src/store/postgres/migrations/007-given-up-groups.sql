-- A hub that lost its connection around a commit notes its group in the row of its lane, unless it is there: then it was kept.
-- A transaction that the server had not finished then comes too late, and must not be kept any more: its hub has told
-- the callers that nothing was.
CREATE FUNCTION refuse_given_up_group() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'group % was given up by its hub', NEW.last_group USING ERRCODE = 'WR003';
END $$;
CREATE TRIGGER given_up_groups BEFORE UPDATE OF last_group ON lanes
  FOR EACH ROW WHEN (NEW.last_group <= OLD.last_group) EXECUTE FUNCTION refuse_given_up_group();
