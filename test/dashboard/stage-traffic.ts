import type { StageCrew } from "./stage-crew.ts";

/** One step of the chart of an hour. */
const stepMs = 15_000;
const minuteMs = 60_000;

/** Types of their own, so that nothing here claims a job that the pictures open. */
const kinds = [
  { type: "image.thumb.v2", user: "shop", argv: ["thumb", "--widths", "320,640,1280"], result: { files: 3 } },
  { type: "invoice.render", user: "shop", argv: ["render", "invoice.xml"], result: { pages: 2 } },
  { type: "search.index", user: "ci", argv: ["index", "--shard", "7"], result: { docs: 5120 } },
  { type: "mail.send", user: "media-api", argv: ["send", "--template", "welcome"], result: { sent: 1 } },
  { type: "feed.sync", user: "research-api", argv: ["sync", "feed"], result: { rows: 1204 } },
] as const;

const failures = [
  { type: "invoice.render", code: "WORKER_EXIT_ERROR", reason: "exited with code 3" },
  { type: "feed.sync", code: "TIMEOUT", reason: "ran longer than 30 s" },
  { type: "image.thumb.v2", code: "EXECUTION_ERROR", reason: "catalog/48213.png is not a picture" },
] as const;

const workers = ["oak-01", "oak-02", "ash-01"] as const;

/** Many small jobs beside those that the pictures open: about two a second, and a rush twelve minutes ago. */
export class StageTraffic {
  readonly #crew: StageCrew;
  #waiting = 0;
  #made = 0;

  constructor(crew: StageCrew) {
    this.#crew = crew;
  }

  /** What happens until this long before now. */
  async until(agoMs: number): Promise<void> {
    const { clock } = this.#crew;
    // Soon after each full step of the chart, so that a step that comes late is still drawn where it belongs.
    this.#nextAgoMs ??= clock.agoMs - stepMs + (clock.nowMs() % stepMs) - 500;
    for (; this.#nextAgoMs > agoMs; this.#nextAgoMs -= stepMs) {
      clock.at(this.#nextAgoMs);
      await this.#step(countAt(clock.agoMs), capacityAt(clock.agoMs));
      if (this.#steps++ % 2 === 0) await this.#crew.beat();
    }
    clock.at(agoMs);
  }

  #nextAgoMs: number | undefined;
  #steps = 0;

  /** A few jobs, as they come now. */
  async moment(): Promise<void> {
    await this.#step(3, 6);
  }

  async #step(count: number, capacity: number): Promise<void> {
    const { clock } = this.#crew;
    // The newest are seen in the list, so they come one after the other.
    const atOnce = clock.agoMs < 2 * minuteMs ? kinds.length : count;
    for (let left = count; left > 0; left -= atOnce) {
      await this.#submit(Math.min(left, atOnce));
      clock.pass(20 + (this.#made % 37));
    }
    const claims = [];
    for (const [index, workerId] of workers.entries()) {
      const max = Math.ceil((Math.min(capacity, this.#waiting) - index) / (workers.length - index));
      if (max > 0) claims.push(await this.#claim(workerId, max));
    }
    for (const [part, passMs] of [300 + (this.#made % 211), 900 + (this.#made % 499), 3_100].entries()) {
      clock.pass(passMs);
      for (const claim of claims) await this.#finish(claim, part);
    }
  }

  async #submit(count: number): Promise<void> {
    const users = new Map<string, object[]>();
    for (let index = 0; index < count; index++) {
      const { type, user, argv } = kinds[this.#made++ % kinds.length]!;
      const job = { type, run: { kind: "exec", argv }, max_attempts: 1, params: { item: this.#made } };
      users.set(user, [...(users.get(user) ?? []), job]);
    }
    for (const [user, jobs] of users) {
      const token = this.#crew.tokens[user]!;
      await this.#crew.hub.must("POST", "/jobs/batch", { token, body: { jobs } });
    }
    this.#waiting += count;
  }

  async #claim(workerId: string, max: number): Promise<Claim> {
    const body = { worker_id: workerId, max: Math.min(max, 64), types: kinds.map(({ type }) => type) };
    const answer = await this.#crew.hub.must("POST", "/jobs/claim-batch", {
      token: this.#crew.hub.admin,
      body,
    });
    const jobs = answer.status === 204 ? [] : answer.json<{ jobs: ClaimedText[] }>().jobs;
    this.#waiting -= jobs.length;
    return { workerId, startedAt: this.#crew.clock.nowMs(), jobs };
  }

  /** Six in ten are short, three take a second, one takes several. */
  async #finish({ workerId, startedAt, jobs }: Claim, part: number): Promise<void> {
    const done = jobs.filter((_, index) => [0, 0, 1, 0, 0, 1, 0, 1, 0, 2][index % 10] === part);
    if (done.length === 0) return;
    const items = done.map(({ id, document, lease }) => {
      const { attempt, token } = JSON.parse(lease) as { attempt: number; token: string };
      return {
        job_id: id,
        attempt,
        token,
        started_at: startedAt,
        ...this.#outcome(JSON.parse(document).type),
      };
    });
    await this.#crew.worker("/jobs/results", { worker_id: workerId, items });
  }

  #outcome(type: string): object {
    const agoMs = this.#crew.clock.agoMs;
    const failure = failures.find((one) => one.type === type);
    const every = isRush(agoMs) ? 11 : 43;
    this.#ended++;
    if (failure !== undefined && this.#ended % every === 0)
      return { code: failure.code, reason: failure.reason };
    return { result: kinds.find((kind) => kind.type === type)?.result, exit_code: 0 };
  }

  #ended = 0;
}

type ClaimedText = { id: string; document: string; lease: string };
type Claim = { workerId: string; startedAt: number; jobs: ClaimedText[] };

const isRush = (agoMs: number) => agoMs > 9 * minuteMs && agoMs < 13 * minuteMs;

/** How many jobs arrive in a step: a slow wave, some noise, and the rush. */
function countAt(agoMs: number): number {
  const wave =
    30 + 7 * Math.sin(agoMs / 700_000) + 3 * Math.sin(agoMs / 97_000) + 2 * Math.sin(agoMs / 31_000);
  const quiet = agoMs < minuteMs ? 0.3 : 1;
  return Math.round(wave * (isRush(agoMs) ? 1.7 : quiet));
}

/** How many are run in a step; during the rush fewer than arrive, so that a queue grows and is worked off. */
function capacityAt(agoMs: number): number {
  return isRush(agoMs) ? 46 : agoMs < 9 * minuteMs ? 44 : 60;
}
