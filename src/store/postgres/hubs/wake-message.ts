import type { CommitNotice } from "../../event-store.ts";

/** What a store has committed, and whom it concerns. */
export type Committed = {
  /** Null if nothing that hubs share has changed. */
  version: number | null;
  notice: CommitNotice | null;
  /** Quotas, pauses or lockdowns have changed: waiting claims look again. */
  isSettings: boolean;
};

type Range = [first: number, last: number];
type Message = {
  versions: Range[];
  lastSeq: number;
  ready: [queueKey: string, count: number][];
  signals: [workerId: string, jobId: string, signal: "cancel" | "lost"][];
  workers: [workerId: string, isDraining: boolean][];
  /** The ends of their ids. */
  jobs: string;
  isAll: boolean;
};

/** PostgreSQL takes 7,999 bytes. */
const bytesMax = 7_900;
const endLength = 8;

/** Commits that come close together, as one message to the other stores. Why: ADR 0083. */
export class WakeMessage {
  readonly #versions: number[] = [];
  #lastSeq = 0;
  readonly #ready = new Map<string, number>();
  readonly #signals: Message["signals"] = [];
  readonly #workers: Message["workers"] = [];
  readonly #jobs = new Set<string>();
  #isAll = false;

  add({ version, notice, isSettings }: Committed): void {
    if (version !== null) this.#versions.push(version);
    this.#isAll ||= isSettings;
    if (notice === null) return;
    this.#lastSeq = Math.max(this.#lastSeq, notice.lastSeq);
    for (const { queueKey, count } of notice.ready)
      this.#ready.set(queueKey, (this.#ready.get(queueKey) ?? 0) + count);
    for (const { workerId, jobId, signal } of notice.signals) this.#signals.push([workerId, jobId, signal]);
    for (const { workerId, isDraining } of notice.workers) this.#workers.push([workerId, isDraining]);
    for (const jobId of notice.jobs) this.#jobs.add(jobEnd(jobId));
  }

  get isEmpty(): boolean {
    return this.#versions.length === 0 && this.#lastSeq === 0;
  }

  /** What does not fit is not named: then everybody looks. */
  text(): string {
    const message: Message = {
      versions: rangesOf(this.#versions),
      lastSeq: this.#lastSeq,
      ready: [...this.#ready],
      signals: this.#signals,
      workers: this.#workers,
      jobs: [...this.#jobs].join(""),
      isAll: this.#isAll,
    };
    const text = JSON.stringify(message);
    if (Buffer.byteLength(text) <= bytesMax) return text;
    const short = { ...message, ready: [], signals: [], workers: [], jobs: "", isAll: true };
    const shortText = JSON.stringify(short);
    return shortText.length <= bytesMax ? shortText : JSON.stringify({ ...short, versions: [] });
  }
}

/** How a waiting reader finds its job in a notice; two jobs with one end cost one look too many. */
function jobEnd(jobId: string): string {
  return jobId.slice(-endLength);
}

export function readMessage(text: string): { versions: Range[]; notice: CommitNotice } {
  const { versions, lastSeq, ready, signals, workers, jobs, isAll } = JSON.parse(text) as Message;
  const notice: CommitNotice = {
    ...emptyNotice(lastSeq),
    ready: ready.map(([queueKey, count]) => ({ queueKey, count })),
    signals: signals.map(([workerId, jobId, signal]) => ({ workerId, jobId, signal })),
    workers: workers.map(([workerId, isDraining]) => ({ workerId, isDraining })),
    jobs: jobs.match(/.{8}/g) ?? [],
    isAll,
  };
  return { versions, notice };
}

/** Others have written; what, is not known. */
export function lookAgain(lastSeq: number): CommitNotice {
  return { ...emptyNotice(lastSeq), isAll: true };
}

function emptyNotice(lastSeq: number): CommitNotice {
  const nothing = { ready: [], handedOver: [], signals: [], workers: [], jobs: [], observed: [] };
  return { lastSeq, ...nothing, isAll: false };
}

function rangesOf(versions: number[]): Range[] {
  const ranges: Range[] = [];
  for (const version of versions.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && version <= last[1] + 1) last[1] = version;
    else ranges.push([version, version]);
  }
  return ranges;
}
