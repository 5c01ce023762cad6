import { isDeepStrictEqual } from "node:util";
import type { CommitNotice } from "../../src/store/event-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { Act } from "./act-scene.ts";
import { checkAgain, checkNotices, onlyOnce, outcomeOf, within } from "./play-act.ts";
import type { NamedScene } from "./scenes.ts";
import type { SqliteStage } from "./sqlite-stage.ts";
import {
  describeDifference,
  isSame,
  type Outcome,
  type Result,
  type Stored,
  show,
  type Told,
  toldBy,
} from "./verdict.ts";
import type { FaultPage, WriteCall, WriteFault } from "./write-faults.ts";

/** Longer than a store waits for a database that is locked. */
const answersWithinMs = 30_000;

/** `earlier` is done once before the act, and not again when the act is asked for again. */
type Prepared = { act: Act; ready: Act; earlier?: Act };
type Played = Result & { calls: WriteCall[]; notices: CommitNotice[] };

/** How a scene ends without a fault: once, and twice. */
export type Reference = Prepared & { before: Played; once: Played; twice(): Promise<Played> };

/** Plays scenes on a stage, with and without faults. */
export class SqliteRun {
  readonly #stage: SqliteStage;
  readonly #page: FaultPage;

  constructor(stage: SqliteStage, page: FaultPage) {
    this.#stage = stage;
    this.#page = page;
  }

  /** Counts the calls of a scene that write, and reads how it ends. */
  async rehearse({ prepare }: NamedScene, { isLogLong = false, isOfRows = false } = {}): Promise<Reference> {
    const scene = await this.#stage.openScene();
    const prepared = await prepare(scene);
    await scene.store.close();
    this.#stage.keep({ isLogLong });
    const nothing: Act = async () => {};
    const given = typeof prepared === "function" ? { act: prepared, ready: nothing } : prepared;
    const acts = isOfRows ? rowsOf(given) : given;
    const play = (...list: Act[]) => this.#play(acts, list);
    return {
      ...acts,
      before: await play(),
      once: await play(acts.act),
      twice: onlyOnce(() => play(acts.act, acts.act)),
    };
  }

  #play(prepared: Prepared, acts: Act[]): Promise<Played> {
    return this.#withStore(prepared, async (store, notices) => {
      this.#page.watch(null);
      let outcome: Outcome = { answer: undefined };
      for (const act of acts) outcome = await this.#answerOf(act(store));
      const calls = this.#page.calls();
      const { unsynced } = this.#page;
      this.#page.rest();
      if ("answer" in outcome && unsynced > 0)
        throw new Error(`answered before ${unsynced} writes were synced`);
      return { stored: this.#stage.readLive(), outcome, calls, notices: [...notices] };
    });
  }

  /** Throws what is wrong; returns what the caller was told. */
  async fault(reference: Reference, at: WriteCall, fault: WriteFault): Promise<Told> {
    const { act, before, once } = reference;
    const seen = await this.#withStore(reference, async (store, notices) => {
      this.#page.watch({ at: at.number, fault });
      const outcome = await this.#answerOf(act(store));
      const { isStruck, unsynced } = this.#page;
      this.#page.rest();
      if (!isStruck) throw new Error("the call did not come");
      const told = toldBy(outcome, once.outcome);
      const stored = this.#stage.readLive();
      this.#checkStored(reference, {
        outcome,
        told,
        states: { stored, "after a crash": this.#stage.readAfterCrash() },
      });
      if (told === "done") {
        if (unsynced > 0) throw new Error(`answered before ${unsynced} writes were synced`);
        checkNotices(notices, once.notices);
        return { told, isKept: true, again: null };
      }
      const isKept = isSame(stored, once.stored) && !isSame(stored, before.stored);
      // A claim that waited looks again: it was taken out of the memory of the store to be given a job.
      if (!isKept) await reference.ready(store);
      const again = await this.#answerOf(act(store));
      return { told, isKept, again: { outcome: again, stored: this.#stage.readAfterCrash() } };
    });
    if (seen.again !== null) checkAgain(seen.again, seen.isKept ? await reference.twice() : once);
    return seen.told;
  }

  /** The calls that open a database for the first time. */
  async rehearseOpening(): Promise<WriteCall[]> {
    this.#page.rest();
    this.#stage.keepNothing();
    this.#stage.putBack();
    this.#page.watch(null);
    const store = await this.#stage.open();
    const calls = this.#page.calls();
    this.#page.rest();
    await store.close();
    return calls;
  }

  /** The first open succeeds or is refused; the next one finds or makes a whole database. */
  async faultOpening(at: WriteCall, fault: WriteFault): Promise<Told> {
    this.#stage.putBack();
    this.#page.watch({ at: at.number, fault });
    const outcome = await this.#answerOf(this.#stage.open());
    const { isStruck } = this.#page;
    this.#page.rest();
    if (!isStruck) throw new Error("the call did not come");
    const isOpen = "answer" in outcome;
    const first = isOpen ? (outcome.answer as Store) : null;
    if (!isOpen) toldBy(outcome, { answer: null });
    const store = first ?? (await this.#stage.open());
    const { schemaVersion } = await store.ping();
    await store.close();
    const expected = Object.keys(this.#stage.readEmpty());
    const found = Object.keys(this.#stage.readLive());
    if (schemaVersion === 0 || !isDeepStrictEqual(found, expected))
      throw new Error(`opened again, version ${schemaVersion} has the tables ${found.join(", ")}`);
    return isOpen ? "done" : "not known";
  }

  #checkStored(
    { before, once }: Reference,
    { outcome, told, states }: { outcome: Outcome; told: Told; states: Record<string, Stored> },
  ): void {
    const allowed = {
      ...(told !== "done" && { "what was before": before.stored }),
      ...(told !== "nothing changed" && { "what the act leaves": once.stored }),
    };
    for (const [when, stored] of Object.entries(states))
      if (!Object.values(allowed).some((state) => isSame(stored, state)))
        throw new Error(`told "${show(outcome)}", but ${when} is ${describeDifference(stored, allowed)}`);
  }

  #answerOf(act: Promise<unknown>): Promise<Outcome> {
    return within(answersWithinMs, outcomeOf(act), () => {
      throw new Error(`no answer within ${answersWithinMs} ms`);
    });
  }

  /** A new store on the kept files, with a connection that writes and one that reads. */
  async #withStore<T>(
    { ready, earlier }: Prepared,
    use: (store: Store, notices: CommitNotice[]) => Promise<T>,
  ): Promise<T> {
    this.#page.rest();
    this.#stage.putBack();
    const store = await this.#stage.open();
    try {
      const notices: CommitNotice[] = [];
      store.onCommit((notice) => !notice.isAll && notices.push(notice));
      // The reader's connection stays open. Without it, the last one to close would empty the log, and hide what is in there.
      await store.countJobs({});
      await ready(store);
      await earlier?.(store);
      notices.length = 0;
      return await use(store, notices);
    } finally {
      this.#page.rest();
      await store.close();
    }
  }
}

/** The rows that a scene leaves to be written, written for a read. */
function rowsOf({ act, ready }: Prepared): Prepared {
  return {
    ready,
    earlier: act,
    act: (store) => store.countJobs({ statuses: ["pending"] }),
  };
}
