import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Writ } from "../../src/client/index.ts";
import { DatabaseNetwork } from "./database-network.ts";
import { eventually } from "./eventually.ts";
import { HubProcess } from "./hub-process.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { activeKey, startTestWorker, type TestWorker } from "./worker.ts";

/** A hub that is frozen or cut off for longer than this has lost its seat at the database. */
const pastSeatMs = 4_500;

/** Hubs on one PostgreSQL server, each reached by an address of its own, and everything that can happen to them. */
export class HubFleet {
  readonly count: number;
  readonly hubs: HubProcess[] = [];
  readonly #workers: TestWorker[] = [];
  /** Its folder `keys` is the one that all hubs share. */
  readonly #shared = mkdtempSync(join(tmpdir(), "writ-fleet-"));
  readonly #network: DatabaseNetwork;
  #cluster!: PostgresCluster;

  constructor(count: number) {
    this.count = count;
    this.#network = new DatabaseNetwork(count);
    mkdirSync(join(this.#shared, "keys"), { mode: 0o700 });
  }

  async start({ workers }: { workers: number }): Promise<void> {
    const { name, host } = this.#network;
    const settings = ["fsync=off", "max_connections=200"];
    this.#cluster = await PostgresCluster.start({ settings, network: { name, host } });
    for (let hub = 0; hub < this.count; hub++) {
      this.hubs.push(
        new HubProcess({
          ...this.environment(this.#network.hostFor(hub)),
          WRIT_LEASE_MS: "20000",
          WRIT_REAPER_INTERVAL_MS: "500",
          WRIT_BACKOFF_SCALE: "0",
          WRIT_LOG_LEVEL: "warn",
        }),
      );
      await this.hubs[hub]!.start();
    }
    const key = activeKey({ home: this.#shared }).publicKeyPem;
    const place = { url: this.urls.join(","), home: this.#shared, admin: this.token };
    for (let made = 0; made < workers; made++)
      this.#workers.push(await startTestWorker(place, { signingKeys: [key], slots: 3 }));
  }

  /** What a program needs to know of the database; the test has an address of its own, which is never cut. */
  environment(host = this.#network.host): Record<string, string> {
    return {
      WRIT_DATABASE_URL: this.#cluster.url("postgres", host),
      WRIT_KEYS_DIR: join(this.#shared, "keys"),
    };
  }

  get urls(): string[] {
    return this.hubs.map(({ url }) => url);
  }

  get token(): string {
    return this.hubs[0]!.token;
  }

  /** A client that begins at one hub and continues at the others, for as long as it takes. */
  client(first: number): Writ {
    const urls = [...this.urls.slice(first), ...this.urls.slice(0, first)];
    return new Writ({ url: urls, token: this.token, retryMs: 600_000, random: () => 0 });
  }

  async kill(hub: number): Promise<void> {
    await this.hubs[hub]!.kill("SIGKILL");
    await this.hubs[hub]!.start();
    await this.recovered(hub);
  }

  async freeze(hub: number): Promise<void> {
    this.hubs[hub]!.signal("SIGSTOP");
    await pause(pastSeatMs);
    this.hubs[hub]!.signal("SIGCONT");
    await this.recovered(hub);
  }

  async cutOff(hub: number): Promise<void> {
    this.#network.cut(hub);
    await pause(pastSeatMs);
    this.#network.mend(hub);
    await this.recovered(hub);
  }

  async killDatabase(): Promise<void> {
    await this.#cluster.end("SIGKILL");
    await this.#cluster.restart();
    for (let hub = 0; hub < this.count; hub++) await this.recovered(hub);
  }

  /** Until the hub says by itself that it is well. */
  async recovered(hub: number): Promise<void> {
    const { url } = this.hubs[hub]!;
    await eventually(`hub ${hub} is well`, async () => {
      const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
      return answer?.status === 200;
    });
  }

  async stop(): Promise<void> {
    this.#network.mendAll();
    for (const worker of this.#workers) await worker.stop();
    for (const hub of this.hubs) await hub.remove();
    await this.#cluster?.stop();
    this.#network.remove();
    rmSync(this.#shared, { recursive: true, force: true });
  }
}
