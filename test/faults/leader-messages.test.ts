import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { heardJobs } from "../mqtt/heard-jobs.ts";
import { startBotServer } from "../support/bot-server.ts";
import { listenOn } from "../support/broker-troubles.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv, type TestHub, testHub } from "../support/hub.ts";
import { HubProcess } from "../support/hub-process.ts";
import { claimJob, freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { noPostgres, PostgresCluster } from "../support/postgres-cluster.ts";

const lacking = noPostgres ?? noMosquitto;
/** Alerts about one tenant are held together, so each of these jobs has a tenant of its own. */
const alertEvery = 6;

describe.skipIf(lacking !== undefined)(
  `messages of a leader that is killed${lacking ? `: ${lacking}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    let keys: string;
    const agent = new Agent({ keepAlive: true });
    const hubs: HubProcess[] = [];
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
      keys = mkdtempSync(join(tmpdir(), "writ-leader-keys-"));
    });
    afterAll(async () => {
      agent.destroy();
      for (const hub of hubs) await hub.remove();
      await cluster?.stop();
      rmSync(keys, { recursive: true, force: true });
    });

    async function startHubs(env: Record<string, string>): Promise<void> {
      for (let n = 0; n < 3; n++) {
        const database = { WRIT_DATABASE_URL: cluster.url("postgres"), WRIT_KEYS_DIR: keys };
        hubs.push(new HubProcess({ ...stillEnv, ...database, ...env, WRIT_LOG_LEVEL: "warn" }));
        await hubs[n]!.start();
      }
    }

    function callerOf({ url, home }: HubProcess): TestHub {
      const port = Number(new URL(url).port);
      return testHub({ url, port, home, admin: hubs[0]!.token, agent, stop: async () => {} });
    }

    async function theLeader(): Promise<HubProcess> {
      return eventually("one leads", async () => {
        for (const hub of hubs) {
          const health = await fetch(new URL("/healthz", hub.url)).catch(() => null);
          if (health !== null && ((await health.json()) as { leader: boolean }).leader) return hub;
        }
        return null;
      });
    }

    test("arrive at the broker and the webhook at least once, in order, and none is missing", async () => {
      const broker = await Mosquitto.start();
      const hook = await startBotServer();
      onTestFinished(() => hook.stop());
      const listener = await broker.listen("writ/+/jobs/+/events");
      const line = await startLine(broker.port);
      await startHubs({
        WRIT_MQTT_URL: line.url,
        WRIT_WEBHOOK_URL: `${hook.url}/hook`,
        WRIT_WEBHOOK_SECRET: "the secret of the webhook",
      });
      const load = new Load(hubs, callerOf);
      const running = load.run();
      // The leader dies before the broker has what it sent, and then before it hears that the broker has it.
      for (const lost of ["messages", "answers"] as const) {
        await load.goesOn();
        const leader = await theLeader();
        await load.leave(leader);
        await line.lose(lost);
        await load.goesOn();
        await leader.kill("SIGKILL");
        line.mend();
        await load.goesOn();
        await leader.start();
      }
      load.end();
      await running;

      const heard = await eventually("every event", () => {
        const jobs = heardJobs(listener);
        return load.ended.every((id) => jobs.get(id)?.length === 4) && jobs;
      });
      const orders = new Set(
        [...heard.values()].map((messages) => messages.map(({ seq, event }) => `${seq} ${event}`).join()),
      );
      const [whole, failed] = ["JOB_COMPLETED", "JOB_FAILED"].map(
        (last) => `1 JOB_CREATED,2 JOB_ASSIGNED,3 JOB_STARTED,4 ${last}`,
      );
      expect([...orders].toSorted()).toEqual([whole, failed]);

      const alerts = (): Alert[] => hook.heard.map(({ body }) => JSON.parse(body) as Alert);
      await eventually("every alert", () =>
        load.tenants.every((tenant) => alerts().some(({ tenant_id }) => tenant_id === tenant)),
      );
      // One that came twice has the same id, by which a receiver drops it.
      const told = new Map(alerts().map(({ id, tenant_id }) => [id, tenant_id]));
      expect([...told.values()].toSorted()).toEqual(load.tenants.toSorted());
      const ids = alerts().map(({ id }) => id);
      expect([...new Set(ids)]).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
      const twice = listener.heard.length - 4 * load.ended.length;
      expect(twice).toBeGreaterThan(0);
      console.log(
        `${4 * load.ended.length} events, 2 leaders killed, ${twice} sent twice; ${told.size} alerts, ${ids.length - told.size} sent twice`,
      );
    });
  },
);

type Direction = "messages" | "answers";

/** The way to the broker, on which one direction can be lost. */
async function startLine(port: number) {
  let lost: Direction | null = null;
  let onLoss: () => void = () => {};
  const listening = await listenOn((near) => {
    const far = connect(port, "127.0.0.1").on("error", () => {});
    const pass = (from: Socket, to: Socket, direction: Direction): void => {
      from.on("data", (piece) => {
        if (lost === direction) onLoss();
        else to.write(piece);
      });
      from.on("close", () => to.destroy());
    };
    pass(near, far, "messages");
    pass(far, near, "answers");
  });
  return {
    url: `mqtt://127.0.0.1:${listening}`,
    /** Resolves when something was lost. */
    lose(direction: Direction): Promise<void> {
      lost = direction;
      return new Promise((resolve) => {
        onLoss = resolve;
      });
    },
    mend(): void {
      lost = null;
    },
  };
}

type Alert = { id: number; tenant_id: string };

/** Jobs one after the other, through hubs that are not about to be killed. */
class Load {
  readonly ended: string[] = [];
  readonly tenants: string[] = [];
  readonly #hubs: readonly HubProcess[];
  readonly #callerOf: (hub: HubProcess) => TestHub;
  #front: HubProcess;
  #begun = 0;
  #isOver = false;
  readonly #open = new Map<HubProcess, number>();

  constructor(hubs: readonly HubProcess[], callerOf: (hub: HubProcess) => TestHub) {
    this.#hubs = hubs;
    this.#callerOf = callerOf;
    this.#front = hubs[0]!;
  }

  async run(): Promise<void> {
    const workerId = await registerWorker(this.#callerOf(this.#front));
    const lane = async (): Promise<void> => {
      while (!this.#isOver) await this.#runOne(this.#begun++, workerId);
    };
    await Promise.all([lane(), lane()]);
  }

  end(): void {
    this.#isOver = true;
  }

  async goesOn(): Promise<void> {
    const enough = this.ended.length + 20;
    await eventually("jobs go on", () => this.ended.length >= enough);
  }

  /** Resolves when no call is open there. */
  async leave(hub: HubProcess): Promise<void> {
    this.#front = this.#hubs.find((other) => other !== hub)!;
    await eventually("no hub calls it", () => (this.#open.get(hub) ?? 0) === 0);
  }

  async #runOne(nth: number, workerId: string): Promise<void> {
    const front = this.#front;
    this.#open.set(front, (this.#open.get(front) ?? 0) + 1);
    try {
      const hub = this.#callerOf(front);
      const type = freshName("told");
      const isFailing = nth % alertEvery === 0;
      await submitJob(hub, { type, token: isFailing ? await this.#newTenant(hub) : hub.admin });
      const { id, fence } = await claimJob(hub, { workerId, type });
      const end = isFailing
        ? { path: "fail", body: { ...fence, reason: "as the test wishes", code: "INVALID_JOB" } }
        : { path: "result", body: { ...fence, result: nth } };
      await hub.must("POST", `/jobs/${id}/start`, { token: hub.admin, body: fence });
      await hub.must("POST", `/jobs/${id}/${end.path}`, { token: hub.admin, body: end.body });
      this.ended.push(id);
    } finally {
      this.#open.set(front, this.#open.get(front)! - 1);
    }
  }

  async #newTenant(hub: TestHub): Promise<string> {
    const tenant = freshName("tenant").replaceAll("-", "_");
    this.tenants.push(tenant);
    const body = { role: "user", tenant_id: tenant, user_id: "ada" };
    return (await hub.must("POST", "/tokens", { token: hub.admin, body })).json<{ token: string }>().token;
  }
}
