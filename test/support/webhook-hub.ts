import type { HubDeps } from "../../src/hub/deps.ts";
import { openDeps } from "../../src/hub/open-deps.ts";
import type { WebhookView } from "../../src/hub/views/webhook-view.ts";
import { createWebhooks } from "../../src/hub/webhooks/create-webhooks.ts";
import type { Clock } from "../../src/runtime/clock/clock.ts";
import { handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import type { Failpoint } from "../../src/runtime/failpoint.ts";
import type { Network } from "../../src/runtime/guarded-fetch/guarded-lookup.ts";
import { startAll } from "../../src/runtime/service.ts";
import { eventually } from "./eventually.ts";
import { databaseUrlOf } from "./home-database.ts";
import { freshName } from "./jobs.ts";
import { type MemoryHub, startMemoryHub } from "./memory-hub.ts";
import { issueToken } from "./tokens.ts";

export type Tenant = { tenant: string; admin: string; user: string };
type Serving = { stop(): Promise<void> };

/** A hub that delivers webhooks when a test says so, and whose time passes by hand. */
export class WebhookHub {
  readonly hub: MemoryHub;
  readonly #hand = handClock();
  readonly #serving: Serving[] = [];
  /** Calls that are under way. */
  #calls = 0;
  #leapMs = Date.parse("2026-03-01T00:00:00Z");
  failpoint: Failpoint = () => {};

  static async start(hosts: string): Promise<WebhookHub> {
    const at = new WebhookHub();
    const hub = await startMemoryHub({ WRIT_WEBHOOK_HOSTS: hosts }, { clock: at.clock, failpoint: at.#fail });
    return Object.assign(at, { hub });
  }

  private constructor() {
    this.hub = undefined as unknown as MemoryHub;
  }

  readonly #fail: Failpoint = (name) => {
    if (name === "webhooks.beforeCall") this.#calls++;
    if (name === "webhooks.afterCall") this.#calls--;
    return this.failpoint(name);
  };

  get clock(): Clock {
    const hand = this.#hand;
    const here = this;
    return {
      ...hand,
      nowMs() {
        return here.nowMs;
      },
    };
  }

  get nowMs(): number {
    return this.#leapMs + this.#hand.nowMs();
  }

  /** The clock of the wall goes forward, and no timer does. */
  leap(ms: number): void {
    this.#leapMs += ms;
  }

  async pass(ms: number): Promise<void> {
    await this.#hand.pass(ms);
  }

  /** Serves the webhooks of all tenants, as the hub that leads does. */
  async serve({
    deps = this.hub.deps,
    network,
  }: {
    deps?: HubDeps;
    network?: Network;
  } = {}): Promise<Serving> {
    const leadership = { isLeader: true };
    const service = createWebhooks({ ...deps, leadership, ...(network && { network }) });
    await service.start();
    this.#serving.push(service);
    return service;
  }

  /** Stops what a test, also one that failed, has left serving, and removes its webhooks: the next one uses the same receivers. */
  async clear(): Promise<void> {
    for (const service of this.#serving.splice(0)) await service.stop();
    this.#calls = 0;
    const { hub } = this;
    const token = hub.admin;
    for (const { name, tenant_id } of (await hub.must("GET", "/webhooks", { token })).json<WebhookView[]>())
      await hub.must("DELETE", `/webhooks/${name}?tenant=${tenant_id}`, { token });
  }

  /** Another hub: on PostgreSQL with a store of its own, on SQLite, which one hub has to itself, with the same. */
  async another(): Promise<{ deps: HubDeps; stop(): Promise<void> }> {
    const { home, version, settings, logger } = this.hub.deps;
    if (databaseUrlOf(home) === null) return { deps: this.hub.deps, stop: async () => {} };
    const deps = await openDeps({ home, version, settings, logger, clock: this.clock });
    await startAll([deps.feed]);
    const stop = async (): Promise<void> => {
      await deps.feed.stop();
      await deps.store.close();
    };
    return { deps, stop };
  }

  /**
   * Seconds pass until the look gives something, but none while a call is under way: on a slow machine the time of a call would be
   * over before its answer is there.
   */
  passUntil<T>(what: string, look: () => T | Promise<T>, stepMs = 1_000) {
    return eventually(what, async () => {
      if (this.#calls === 0) await this.pass(stepMs);
      return look();
    });
  }

  untilState(of: Tenant, name: string, state: WebhookView["state"]): Promise<WebhookView> {
    return eventually(`the webhook is ${state}`, async () => {
      if (this.#calls === 0) await this.pass(1_000);
      const view = await this.get(of, name);
      return view.state === state ? view : null;
    });
  }

  async newTenant(): Promise<Tenant> {
    const tenant = freshName("tenant").replaceAll("-", "_");
    const admin = await issueToken(this.hub, { role: "admin", tenant_id: tenant, user_id: "root" });
    const user = await issueToken(this.hub, { role: "user", tenant_id: tenant, user_id: "ann" });
    return { tenant, admin: admin.token, user: user.token };
  }

  async put({ admin }: Tenant, body: object, name = freshName("webhook")): Promise<WebhookView> {
    const whole = { events: ["job:created"], ...body };
    return (
      await this.hub.must("PUT", `/webhooks/${name}`, { token: admin, body: whole })
    ).json<WebhookView>();
  }

  async get({ admin }: Tenant, name: string): Promise<WebhookView> {
    return (await this.hub.must("GET", `/webhooks/${name}`, { token: admin })).json<WebhookView>();
  }

  /** Jobs of a tenant, in order. */
  async submit({ user }: Tenant, count: number, job: object = {}): Promise<string[]> {
    const ids: string[] = [];
    for (let one = 0; one < count; one++) {
      const body = { type: "report", run: { kind: "exec", argv: ["true"] }, ...job };
      ids.push((await this.hub.must("POST", "/jobs", { token: user, body })).json<{ id: string }>().id);
    }
    return ids;
  }

  async eventsOf({ tenant }: Tenant, event: "WEBHOOK_CHANGED" | "WEBHOOK_DISABLED" | "SECURITY_VIOLATION") {
    const page = { afterSeq: 0, limit: 1_000, tenantId: tenant, kinds: [event] };
    return (await this.hub.deps.store.readEvents(page)).map(({ details }) => details);
  }
}
