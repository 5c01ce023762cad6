import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RouteInput, RouteRequest } from "../../src/contract/routes/build-request.ts";
import { callRoute } from "../../src/contract/routes/call-route.ts";
import type { RouteAnswer } from "../../src/contract/routes/read-answer.ts";
import type { Route } from "../../src/contract/routes/route.ts";
import { routes } from "../../src/contract/routes/routes.ts";
import type { ClaimedBatch } from "../../src/contract/shapes/worker-shapes.ts";
import { WritError } from "../../src/core/errors.ts";
import { createHttpClient } from "../../src/runtime/http/http-client.ts";
import { readEvents, readRows, readStatuses } from "../support/database.ts";
import { isOnServer } from "../support/home-database.ts";
import { HubProcess } from "../support/hub-process.ts";

const producers = 4;
const workers = 4;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

/** Kills a hub again and again while jobs are submitted, claimed and finished, and looks for what was lost or done twice. */
export function describeHubKills(kills: number): void {
  /** Leases are short so that a claim whose answer was lost with the hub comes back soon. */
  const hub = new HubProcess({
    WRIT_LEASE_MS: "2000",
    WRIT_REAPER_INTERVAL_MS: "200",
    WRIT_BACKOFF_SCALE: "0",
    WRIT_LOG_LEVEL: "warn",
  });

  beforeAll(() => hub.start());
  afterAll(() => hub.remove());

  test(`kill -9 of the hub, ${kills} times under load, loses no acknowledged job and completes none twice (seed ${seed})`, async () => {
    const random = seeded(seed);
    const load = new Load(hub);
    const running = load.start();
    for (let round = 0; round < kills; round++) {
      await sleep(20 + random() * 300);
      await hub.kill("SIGKILL");
      await hub.start();
    }
    load.stopProducing();
    await load.drained();
    await running;

    expect(load.acknowledged.size).toBeGreaterThan(kills);
    const statuses = readStatuses(hub.home);
    expect([...load.acknowledged].filter((id) => statuses.get(id) !== "completed")).toEqual([]);
    const events = readEvents(hub.home);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    // Every accepted result is one completion: what a worker was told is what the log says.
    const completions = events.filter(({ event }) => event === "JOB_COMPLETED").map(({ job_id }) => job_id!);
    expect(completions.toSorted()).toEqual([...load.acknowledged].toSorted());
    const ofJob = Map.groupBy(
      events.filter(({ job_id }) => job_id !== null),
      ({ job_id }) => job_id,
    );
    for (const [id, told] of ofJob)
      expect(
        told.map(({ job_seq }) => job_seq),
        id!,
      ).toEqual(told.map((_, index) => index + 1));
    if (!isOnServer())
      expect(readRows(hub.home, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  }, 600_000);
}

/** Producers and workers that go on through every death of the hub, repeating what was not answered. */
class Load {
  readonly acknowledged = new Set<string>();
  readonly #finished = new Set<string>();
  readonly #http: ReturnType<typeof createHttpClient>;
  #isProducing = true;
  #isWorking = true;
  #keys = 0;

  constructor({ url, token }: HubProcess) {
    this.#http = createHttpClient({ baseUrls: [url], token });
  }

  async start(): Promise<void> {
    await Promise.all([
      ...Array.from({ length: producers }, () => this.#produce()),
      ...Array.from({ length: workers }, (_, n) => this.#work(`worker-${n}`)),
    ]);
    this.#http.close();
  }

  stopProducing(): void {
    this.#isProducing = false;
  }

  /** Until everything that was acknowledged has been finished. */
  async drained(): Promise<void> {
    while (this.#finished.size < this.acknowledged.size) {
      await this.#putBack();
      await sleep(50);
    }
    this.#isWorking = false;
  }

  /** Whose claim was lost with the hub too often is laid aside for a person, who would do this. */
  async #putBack(): Promise<void> {
    const query = { status: ["quarantined" as const], limit: 100 };
    const { body: aside } = await this.#insist(routes.listJobs, { query });
    for (const { id } of aside) await this.#insist(routes.retryJob, { params: { id } });
  }

  async #produce(): Promise<void> {
    while (this.#isProducing) {
      const jobs = Array.from({ length: 5 }, () => ({
        type: "kill-test",
        idempotency_key: `key-${this.#keys++}`,
      }));
      const { body } = await this.#insist(routes.submitJobs, { body: { jobs } });
      for (const { id } of body.jobs) this.acknowledged.add(id);
    }
  }

  async #work(workerId: string): Promise<void> {
    const worker = { worker_id: workerId, cores: 1, ram_gb: 1, types: ["kill-test"] };
    await this.#insist(routes.registerWorker, { body: worker });
    while (this.#isWorking) {
      const claim = { worker_id: workerId, max: 10, wait_ms: 200 };
      const { body } = await this.#insist(routes.claimJobs, { body: claim });
      // It did not ask for the second form of the answer.
      if (body !== undefined) await this.#finish(workerId, (body as ClaimedBatch).jobs);
    }
  }

  async #finish(workerId: string, jobs: { id: string; lease: string }[]): Promise<void> {
    const items = jobs.map(({ id, lease }) => {
      const { attempt, token } = JSON.parse(lease);
      return { job_id: id, attempt, token, result: { by: workerId, attempt } };
    });
    const { body } = await this.#insist(routes.finishJobs, { body: { worker_id: workerId, items } });
    for (const { job_id, status, error } of body.items) {
      if (status === "completed") this.#finished.add(job_id!);
      else expect(error?.code).toBe("LEASE_LOST");
    }
  }

  /** Repeats a call until the hub has answered it; a hub that is away or dies meanwhile is what this is about. */
  async #insist<R extends Route>(route: R, input: RouteInput<R>): Promise<RouteAnswer<R>> {
    while (true) {
      try {
        const send = (request: RouteRequest) => this.#http.request({ ...request, timeoutMs: 10_000 });
        return await callRoute(send, route, input);
      } catch (error) {
        if (!(error instanceof WritError) || error.code !== "HUB_UNREACHABLE") throw error;
        await sleep(20);
      }
    }
  }
}

function seeded(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
