import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "vitest";
import type { EventKind } from "../../../src/core/events.ts";
import type { HubDeps } from "../../../src/hub/deps.ts";
import { openDeps } from "../../../src/hub/open-deps.ts";
import { fireDueSchedules } from "../../../src/hub/use-cases/schedules/fire-schedules.ts";
import type { ScheduleView } from "../../../src/hub/views/schedule-view.ts";
import type { Clock } from "../../../src/runtime/clock/clock.ts";
import { handClock } from "../../../src/runtime/clock/hand-clock.testing.ts";
import type { Failpoint } from "../../../src/runtime/failpoint.ts";
import { databaseUrlOf } from "../home-database.ts";
import { freshName } from "../jobs.ts";
import { type MemoryHub, startMemoryHub } from "../memory-hub.ts";
import { issueToken } from "../tokens.ts";

/** A hub without services, whose time passes when a test says so. */
export class ScheduleHub {
  readonly hub: MemoryHub;
  readonly #state: { nowMs: number; failpoint: Failpoint };

  static async start(startText: string, env: Record<string, string> = {}): Promise<ScheduleHub> {
    const state = { nowMs: Date.parse(startText), failpoint: (() => {}) as Failpoint };
    const clock: Clock = { ...handClock(), nowMs: () => state.nowMs };
    const failpoint: Failpoint = (name) => state.failpoint(name);
    const hub = await startMemoryHub(env, { clock, failpoint });
    return new ScheduleHub(hub, state);
  }

  constructor(hub: MemoryHub, state: { nowMs: number; failpoint: Failpoint }) {
    this.hub = hub;
    this.#state = state;
  }

  get deps(): HubDeps {
    return this.hub.deps;
  }

  get nowMs(): number {
    return this.#state.nowMs;
  }

  at(text: string): void {
    this.#state.nowMs = Date.parse(text);
  }

  pass(ms: number): void {
    this.#state.nowMs += ms;
  }

  onFailpoint(failpoint: Failpoint): void {
    this.#state.failpoint = failpoint;
  }

  /** Another hub: on PostgreSQL with a store of its own, on SQLite, which one hub has to itself, with the same. */
  async another(): Promise<{ deps: HubDeps; stop(): Promise<void> }> {
    const { home, version, settings, logger, clock } = this.deps;
    if (databaseUrlOf(home) === null)
      return { deps: { ...this.deps, failpoint: () => {} }, stop: async () => {} };
    const deps = await openDeps({ home, version, settings, logger, clock });
    return { deps, stop: () => deps.store.close() };
  }

  /** A user of a tenant that no other test knows. */
  async newOwner(): Promise<{ tenant: string; token: string; tokenId: string }> {
    const tenant = freshName("tenant").replaceAll("-", "_");
    const { token, id } = await issueToken(this.hub, { role: "user", tenant_id: tenant, user_id: "ann" });
    return { tenant, token, tokenId: id };
  }

  async put(token: string, body: object, name = freshName("schedule")): Promise<string> {
    const job = { type: "report", run: { kind: "exec", argv: ["true"] } };
    await this.hub.must("PUT", `/schedules/${name}`, { token, body: { job, ...body } });
    return name;
  }

  async get(token: string, name: string): Promise<ScheduleView> {
    return (await this.hub.must("GET", `/schedules/${name}`, { token })).json<ScheduleView>();
  }

  /** As many turns as there is something to do. */
  async fire(deps: HubDeps = this.deps): Promise<void> {
    for (let turn = 0; turn < 200; turn++) {
      if ((await fireDueSchedules(deps)).looked === 0) return;
      await nextTurn();
    }
    expect.unreachable("schedules are still due after 200 turns");
  }

  /** The occurrences whose jobs exist, in order, from the signed documents. */
  async firedOf(token: string, schedule?: string): Promise<string[]> {
    const { jobs } = await this.#jobs(token);
    const found = jobs.map(({ metadata }) => metadata?.schedule).filter((one) => one !== undefined);
    return found
      .filter(({ name }) => schedule === undefined || name === schedule)
      .map(({ occurrence }) => occurrence)
      .sort();
  }

  /** Ends all jobs of the tenant. */
  async endJobs(token: string): Promise<void> {
    const { jobs } = await this.#jobs(token);
    for (const { id, status } of jobs)
      if (status === "pending") await this.hub.must("DELETE", `/jobs/${id}`, { token });
  }

  async eventsOf(tenantId: string, event: EventKind): Promise<Record<string, unknown>[]> {
    const found = await this.deps.store.readEvents({ afterSeq: 0, limit: 20_000, tenantId, kinds: [event] });
    return found.map(({ details }) => details);
  }

  async #jobs(token: string): Promise<{ jobs: ScheduledJob[] }> {
    const jobs: ScheduledJob[] = [];
    let cursor = "";
    do {
      const answer = await this.hub.must("GET", `/jobs?limit=500${cursor}`, { token });
      jobs.push(...answer.json<ScheduledJob[]>());
      const next = answer.headers["x-next-cursor"];
      cursor = next === undefined ? "" : `&cursor=${next}`;
    } while (cursor !== "");
    return { jobs };
  }
}

type ScheduledJob = {
  id: string;
  status: string;
  metadata: { schedule?: { name: string; occurrence: string; scheduled_for: string } } | null;
};
