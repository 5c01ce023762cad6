import type { WritError } from "../../../core/errors.ts";
import { isWrite } from "../../act-names.ts";
import { RefusedAct } from "../../acts/refused-act.ts";
import type { Database } from "../database/database.ts";
import { blame, isDamage, storeUnavailable } from "../database/sqlite-error.ts";
import { describeError } from "./answer-error.ts";
import type { GroupContext, GroupDriver } from "./group-driver.ts";
import type { Answer, Batch, Request } from "./wire.ts";

/**
 * A sync takes about 0.2 ms. After 8 ms of work it is a small part of the whole, so sharing it further gains nothing,
 * while everybody in the group waits longer.
 */
const groupMs = 8;
const groupActsMax = 1_000;

type Group = { batch: Batch; taken: number };

/**
 * Runs requests from the front in one transaction with one sync; `taken` is how many there was time for.
 * Why: ADR 0003, ADR 0062.
 */
export function commitGroup<C extends GroupContext>(database: Database<C>, requests: Request[]): Group {
  const group = nextGroup(database.driver, requests);
  try {
    database.checkFilesSometimes();
  } catch (error) {
    return { batch: refuseAll(group, error), taken: group.length };
  }
  if (!group.some((request) => isWrite(request.act))) {
    return { batch: readAll(database, group), taken: group.length };
  }
  try {
    return writeGroup(database, group);
  } catch (error) {
    database.recover(error);
    if (isDamage(error) && !group.every((request) => isWrite(request.act)))
      return splitGroup(database, group);
    return { batch: refuseWrites(database, group, storeUnavailable(error)), taken: group.length };
  }
}

/** From the front, up to an act that needs a group of its own, or such an act alone. */
function nextGroup<C extends GroupContext>(driver: GroupDriver<C>, requests: Request[]): Request[] {
  const group = requests.slice(0, groupActsMax);
  const isAlone = ({ act }: Request): boolean => driver.needsOwnGroup(act);
  const end = isAlone(group[0]!) ? 1 : group.findIndex(isAlone);
  return end === -1 ? group : group.slice(0, end);
}

/**
 * SQLite gives up a transaction that meets a broken page, even if only a read asked for it. So the writes are done
 * without the reads, and the reads outside of a transaction.
 */
function splitGroup<C extends GroupContext>(database: Database<C>, group: Request[]): Group {
  const reads = group.filter((request) => !isWrite(request.act));
  const writes = group.filter((request) => isWrite(request.act));
  const { answers } = readAll(database, reads);
  let batch: Batch;
  try {
    batch = writeGroup(database, writes, Number.POSITIVE_INFINITY).batch;
  } catch (error) {
    database.recover(error);
    batch = refuseWrites(database, writes, storeUnavailable(error));
  }
  return { batch: { ...batch, answers: [...answers, ...batch.answers] }, taken: group.length };
}

function writeGroup<C extends GroupContext>(
  database: Database<C>,
  group: Request[],
  ms = groupMs,
  run: Run = runTogether,
): Group {
  const { driver } = database;
  database.connection().run("BEGIN IMMEDIATE");
  // Asked for now that nobody else can write: memory must agree with what this transaction sees.
  const context = database.context();
  const seqBefore = context.tallies.get("event_seq");
  const answers = run({ driver, context }, group, ms);
  if (answers === null) return writeGroup(database, group, ms, runEachAlone);
  driver.finishGroup(context);
  const done = group.slice(0, answers.length);
  for (const { act } of done) database.failpoint(`${act}.beforeCommit`);
  context.sql.run("COMMIT");
  // Before anybody is answered: a commit into a file that was removed is lost.
  database.checkFiles();
  for (const { act } of done) database.failpoint(`${act}.afterCommit`);
  database.committed();
  driver.committed(context);
  const notice = context.notice.take(seqBefore, context.tallies.get("event_seq"));
  const writes = done.filter(({ act }) => isWrite(act)).length;
  return { batch: { answers, notice, writes }, taken: done.length };
}

/** Null if the transaction was rolled back. */
type Run = <C extends GroupContext>(turn: Turn<C>, group: Request[], ms: number) => Answer[] | null;

type Turn<C extends GroupContext> = { driver: GroupDriver<C>; context: C };

/**
 * Runs a group without savepoints, which would cost two statements for each act. Acts that must be rolled back are rare:
 * if there is one, nothing of the group is kept, and each act of it runs alone.
 */
function runTogether<C extends GroupContext>(turn: Turn<C>, group: Request[], ms: number): Answer[] | null {
  const { driver, context } = turn;
  const mark = driver.mark(context);
  try {
    return runInTime(group, ms, (request) =>
      isWrite(request.act)
        ? { id: request.id, value: driver.runAct(context, request.act, request.input) }
        : readOne(turn, request),
    );
  } catch (error) {
    if (blame(error) !== "act") throw error;
    context.sql.script("ROLLBACK");
    driver.backTo(context, mark);
    return null;
  }
}

function runEachAlone<C extends GroupContext>(turn: Turn<C>, group: Request[], ms: number): Answer[] {
  return runInTime(group, ms, (request) => runAlone(turn, request, group.length > 1));
}

/** As many requests from the front as there is time for. */
function runInTime(group: Request[], ms: number, run: (request: Request) => Answer): Answer[] {
  const endAt = performance.now() + ms;
  const answers: Answer[] = [];
  for (const request of group) {
    answers.push(run(request));
    if (performance.now() > endAt) break;
  }
  return answers;
}

/** An act that is refused, or that throws, is rolled back by itself; the others in the group are not affected. */
function runAlone<C extends GroupContext>(turn: Turn<C>, request: Request, hasNeighbours: boolean): Answer {
  const { driver, context } = turn;
  const { id, act, input } = request;
  if (!isWrite(act)) return readOne(turn, request);
  const mark = driver.mark(context);
  if (hasNeighbours) context.sql.run("SAVEPOINT act");
  try {
    const value = driver.runAct(context, act, input);
    if (hasNeighbours) context.sql.run("RELEASE act");
    return { id, value };
  } catch (error) {
    if (blame(error) !== "act") throw error;
    if (hasNeighbours) context.sql.script("ROLLBACK TO act; RELEASE act");
    else context.sql.script("ROLLBACK; BEGIN IMMEDIATE");
    driver.backTo(context, mark);
    return error instanceof RefusedAct ? { id, value: error.answer } : { id, error: describeError(error) };
  }
}

function readAll<C extends GroupContext>(database: Database<C>, group: Request[]): Batch {
  const { driver } = database;
  let context: C;
  try {
    context = database.context();
  } catch (error) {
    return refuseAll(group, error);
  }
  return { answers: group.map((request) => readOne({ driver, context }, request)), notice: null, writes: 0 };
}

function refuseAll(group: Request[], error: unknown): Batch {
  return { answers: group.map(({ id }) => ({ id, error: describeError(error) })), notice: null, writes: 0 };
}

function readOne<C extends GroupContext>({ driver, context }: Turn<C>, { id, act, input }: Request): Answer {
  try {
    return { id, value: driver.runAct(context, act, input) };
  } catch (error) {
    return { id, error: describeError(blame(error) === "act" ? error : storeUnavailable(error)) };
  }
}

/** A disk that refuses writes may still be readable. */
function refuseWrites<C extends GroupContext>(
  database: Database<C>,
  group: Request[],
  error: WritError,
): Batch {
  const reads = group.filter((request) => !isWrite(request.act));
  const refused = group.filter((request) => isWrite(request.act));
  const { answers } = readAll(database, reads);
  return {
    answers: [...answers, ...refused.map(({ id }) => ({ id, error: describeError(error) }))],
    notice: null,
    writes: 0,
  };
}
