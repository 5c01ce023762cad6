import { setImmediate } from "node:timers/promises";
import { isWrite } from "../../src/store/act-names.ts";
import type { CommitNotice } from "../../src/store/event-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { Act } from "./act-scene.ts";
import type { DatabaseFault, FaultTools } from "./database-faults.ts";
import type { Message } from "./frame-proxy.ts";
import { eventAt } from "./log-scenes.ts";
import { checkAgain, checkNotices, onlyOnce, outcomeOf, within } from "./play-act.ts";
import type { PostgresStage } from "./postgres-stage.ts";
import type { NamedScene } from "./scenes.ts";
import {
  describeDifference,
  differences,
  isSame,
  type Outcome,
  type Result,
  type Stored,
  show,
  type Told,
  toldBy,
} from "./verdict.ts";

/** Longer than the server waits for a transaction that stands still, and a store for a server that is silent. */
const answersWithinMs = 30_000;
/** The act that comes next may have to wait for what the first one has locked. */
const nextWithinMs = 250;

type Prepared = { scene: NamedScene; act: Act; ready: Act };
type Played = Result & { messages: Message[]; notices: CommitNotice[]; sequences: string };

/** How a scene ends without a fault: once, twice, and beside another act. */
export type Reference = Prepared & {
  before: Played;
  once: Played;
  /** Played when they are needed for the first time. */
  twice(): Promise<Played>;
  next(): Promise<{ only: Stored; first: Stored; last: Stored }>;
};

export type Finding = { told: Told; isKept: boolean };

/** Plays scenes on a stage, with and without faults. */
export class PostgresRun {
  readonly #stage: PostgresStage;
  #kept: Stored = {};
  /** The tables that differ from the kept state. */
  #differing: string[] = [];
  #next: Promise<void> = Promise.resolve();

  constructor(stage: PostgresStage) {
    this.#stage = stage;
  }

  /** Counts the messages of a scene, and reads how it ends. */
  async rehearse(scene: NamedScene): Promise<Reference> {
    const prepared = await this.#prepare(scene);
    const { act } = prepared;
    const play = (...acts: Act[]) => this.#play(prepared, acts);
    const next = async () => ({
      only: (await play(nextAct)).stored,
      first: (await play(nextAct, act)).stored,
      last: (await play(act, nextAct)).stored,
    });
    return {
      ...prepared,
      before: await play(),
      once: await play(act),
      twice: onlyOnce(() => play(act, act)),
      next: onlyOnce(next),
    };
  }

  async #prepare(scene: NamedScene): Promise<Prepared> {
    const stage = await this.#stage.openScene();
    const prepared = await scene.prepare(stage);
    await stage.store.close();
    await this.#stage.keep();
    this.#kept = await this.#stage.read();
    this.#differing = [];
    const nothing: Act = async () => {};
    return { scene, ...(typeof prepared === "function" ? { act: prepared, ready: nothing } : prepared) };
  }

  #play(prepared: Prepared, acts: Act[]): Promise<Played> {
    return this.#withStore(prepared, async (store, notices) => {
      this.#stage.proxy.watch(null);
      let outcome: Outcome = { answer: undefined };
      for (const act of acts) outcome = await outcomeOf(act(store));
      // What the store does by itself after the answer is not part of the act.
      const messages = [...this.#stage.proxy.messages];
      const stored = await this.#read();
      const sequences = await this.#stage.sequences();
      return { stored, outcome, messages, notices: [...notices], sequences };
    });
  }

  /** Throws what is wrong; returns what the caller was told, and whether the act has happened. */
  async fault(reference: Reference, at: Message, fault: DatabaseFault): Promise<Finding> {
    const { before, once } = reference;
    const next = fault.isBesideNext ? await reference.next() : null;
    const [nothing, done] =
      next === null ? [[before.stored], [once.stored]] : [[next.only], [next.first, next.last]];
    const seen = await this.#withStore(reference, async (store, notices) => {
      const outcome = await this.#strike(reference, { at, fault, store });
      const told = toldBy(outcome, once.outcome);
      if (told === "done") await this.#end(fault);
      const stored = await this.#read();
      const isKept = done.some((state) => isSame(stored, state));
      const allowed = [...(told === "done" ? [] : nothing), ...(told === "nothing changed" ? [] : done)];
      if (!allowed.some((state) => isSame(stored, state)))
        throw new Error(
          `told "${show(outcome)}", but stored is ${describeDifference(stored, { "what was before": nothing[0]!, "what the act leaves": done[0]! })}`,
        );
      if (told === "done" && next === null) checkNotices(notices, once.notices);
      // One that was kept beside the next act has no reference for being repeated.
      if (told === "done" || (isKept && next !== null)) return { told, isKept, again: null };
      await this.#stage.run(isKept ? once.sequences : before.sequences);
      // A claim that waited looks again: it was taken out of the memory of the store to be given a job.
      if (!isKept) await reference.ready(store);
      const again = await this.#answerOf(reference.act(store));
      await this.#end(fault);
      return { told, isKept, again: { outcome: again, stored: await this.#read() } };
    });
    if (seen.again !== null) {
      const expected = seen.isKept ? await reference.twice() : once;
      checkAgain(seen.again, { ...expected, stored: next === null ? expected.stored : next.first });
    }
    return seen;
  }

  async #strike(
    { act }: Reference,
    { at, fault, store }: { at: Message; fault: DatabaseFault; store: Store },
  ): Promise<Outcome> {
    const { proxy, cluster } = this.#stage;
    let isServerDown = false;
    const tools: FaultTools = {
      cutOff: () => {
        proxy.isDown = true;
      },
      terminate: (processId) => this.#stage.terminate(processId),
      endServer: async (signal) => {
        isServerDown = true;
        await this.#stage.endServer(signal);
      },
      nextAct: async () => {
        this.#next = nextAct(store).then(() => {});
        await within(nextWithinMs, this.#next, () => {});
      },
    };
    const struck = Promise.withResolvers<void>();
    proxy.watch({
      at,
      strike: (link, frame) => void fault.strike(link, { frame, message: at }, tools).then(struck.resolve),
    });
    const outcome = await this.#answerOf(act(store));
    // The last message of a conversation may come after the answer.
    await within(answersWithinMs, struck.promise, () => {
      throw new Error("the message did not come");
    });
    if (fault.end === undefined) await this.#end(fault);
    proxy.isDown = false;
    if (isServerDown) await cluster.restart();
    return outcome;
  }

  /** Nothing of what was struck is under way any more. */
  async #end(fault: DatabaseFault): Promise<void> {
    const link = this.#stage.proxy.struck!;
    fault.end?.(link);
    if (fault.isBesideNext) await this.#next;
    else await link.closed;
  }

  #answerOf(act: Promise<unknown>): Promise<Outcome> {
    return within(answersWithinMs, outcomeOf(act), () => {
      throw new Error(`no answer within ${answersWithinMs} ms`);
    });
  }

  async #read(): Promise<Stored> {
    const stored = await this.#stage.read();
    this.#differing = differences(stored, this.#kept);
    return stored;
  }

  /** A new store on the kept state, with its connections open. */
  async #withStore<T>(
    { scene, ready }: Prepared,
    use: (store: Store, notices: CommitNotice[]) => Promise<T>,
  ): Promise<T> {
    const { proxy } = this.#stage;
    await this.#stage.putBack(this.#differing);
    this.#differing = Object.keys(this.#kept);
    // The store before may have listened once more while it was closed.
    proxy.reset();
    const store = await this.#stage.openThroughProxy();
    try {
      const notices: CommitNotice[] = [];
      store.onCommit((notice) => !notice.isAll && notices.push(notice));
      await proxy.listening;
      if (isWrite(scene.act)) await store.ping();
      await ready(store);
      // Only then the connection that they used is free for the next act.
      await setImmediate();
      notices.length = 0;
      return await use(store, notices);
    } finally {
      proxy.reset();
      await within(answersWithinMs, store.close(), () => {
        throw new Error("the store does not close");
      });
    }
  }
}

const nextAct: Act = (store) => store.recordEvents({ events: [eventAt(1)] });
