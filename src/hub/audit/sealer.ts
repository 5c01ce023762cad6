import { repeat, type Service } from "../../runtime/service.ts";
import type { AuditMark } from "../../store/audit-store.ts";
import { firstHash } from "../../store/log/audit-record.ts";
import type { HubDeps } from "../deps.ts";
import { appendMark, signMark } from "./audit-marks.ts";

const roundMs = 1_000;
/**
 * One act seals at most this many, and then pauses for a multiple of the time that it took, so that the database can
 * serve others.
 */
const recordsPerTurn = 100;
const restTimes = 2;
/** At most this many records lie between two signed heads, and could be cut off unnoticed after a crash. */
const recordsPerHead = 1_000;
const headMs = 60_000;

export type SealerDeps = Pick<HubDeps, "store" | "keys" | "clock" | "failures" | "feed"> & { home: string };

/**
 * Signs the head of the chain. The store seals each event where it writes it; every second the sealer reads the head,
 * and seals what an earlier version left unsealed. Why: ADR 0014, ADR 0062.
 */
export function createSealer(deps: SealerDeps): Service {
  const { clock, failures } = deps;
  const onError = (error: unknown) => failures.error(error, "the event log could not be sealed");
  const chain = new Chain(deps);
  const rounds = repeat({ name: "sealer", intervalMs: roundMs, clock, onError }, async (signal) => {
    await chain.seal(signal);
    if (chain.isHeadDue()) await chain.signHead();
  });
  return {
    name: rounds.name,
    async start() {
      await chain.open();
      await rounds.start();
    },
    /** The sealer stops after everything that writes events, so that the last head covers all of them. */
    async stop() {
      await rounds.stop();
      try {
        await chain.seal();
        await chain.signHead();
      } catch (error) {
        // The next start seals the rest; a hub that cannot write must still be able to stop.
        onError(error);
      }
    },
  };
}

class Chain {
  readonly #deps: SealerDeps;
  #head: { seq: number; hash: string } | null = null;
  #signedSeq = 0;
  /** The first head is due at once: after a change of leader this home has no head that covers the newest records. */
  #signedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: SealerDeps) {
    this.#deps = deps;
  }

  /** Without a mark of its start, the chain begins with the next record. */
  async open(): Promise<void> {
    const { store } = this.#deps;
    this.#signedSeq = (await store.findAuditMark({ audit: "head" }))?.seq ?? 0;
    if ((await store.findAuditMark({ audit: "start" })) !== null) return;
    const { first } = await store.eventRange();
    await this.#sign({ audit: "start", seq: Math.max(1, first), hash: firstHash });
  }

  async seal(signal?: AbortSignal): Promise<void> {
    const { store, feed, clock } = this.#deps;
    // Without a signal it is the final run, when the feed no longer announces events.
    let more = signal === undefined || this.#head === null || feed.lastSeq > this.#head.seq;
    while (more && !signal?.aborted) {
      const startedMs = clock.monotonicMs();
      const sealed = await store.sealEvents({ limit: recordsPerTurn });
      this.#head = sealed.head;
      more = sealed.more;
      if (more && signal !== undefined) {
        const restMs = restTimes * (clock.monotonicMs() - startedMs);
        // A stop ends the pause; the loop's condition ends the rest.
        await clock.sleep(restMs, signal).catch(() => {});
      }
    }
  }

  isHeadDue(): boolean {
    const unsigned = (this.#head?.seq ?? 0) - this.#signedSeq;
    if (unsigned >= recordsPerHead) return true;
    return unsigned > 0 && this.#deps.clock.monotonicMs() - this.#signedAt >= headMs;
  }

  async signHead(): Promise<void> {
    if (this.#head === null || this.#head.seq <= this.#signedSeq) return;
    const { seq, hash } = this.#head;
    await this.#sign({ audit: "head", seq, hash });
    this.#signedSeq = seq;
    this.#signedAt = this.#deps.clock.monotonicMs();
  }

  async #sign(unsigned: Pick<AuditMark, "audit" | "seq" | "hash">): Promise<void> {
    const { store, keys, clock, home } = this.#deps;
    await saveMark({ store, home }, signMark(keys.signing, { ...unsigned, ts: clock.nowMs() }));
  }
}

/** Written to the home first: a head that only the database has would be cut off together with the tail. */
export async function saveMark(deps: Pick<SealerDeps, "store" | "home">, mark: AuditMark): Promise<void> {
  await appendMark(deps.home, mark);
  await deps.store.saveAuditMark({ mark });
}
