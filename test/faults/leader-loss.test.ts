import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";

describe.skipIf(noPostgres !== undefined)(`a leader${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  let cluster: PostgresCluster;
  let keys: string;
  const hubs: HubProcess[] = [];
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
    keys = mkdtempSync(join(tmpdir(), "writ-leader-keys-"));
    for (let n = 0; n < 3; n++) {
      const hub = new HubProcess({ WRIT_DATABASE_URL: cluster.url("postgres"), WRIT_KEYS_DIR: keys });
      hubs.push(hub);
      await hub.start();
    }
  });
  afterAll(async () => {
    for (const hub of hubs) {
      hub.signal("SIGCONT");
      await hub.remove();
    }
    await cluster.stop();
    rmSync(keys, { recursive: true, force: true });
  });

  type Health = { status: string; hubs: number; leader: boolean };
  const healthOf = async ({ url }: HubProcess): Promise<Health> =>
    (await fetch(new URL("/healthz", url))).json() as Promise<Health>;
  /** The hubs that say that they lead. */
  async function leadersAmong(asked: HubProcess[]): Promise<HubProcess[]> {
    const answers = await Promise.all(asked.map(healthOf));
    return asked.filter((_, index) => answers[index]!.leader);
  }
  const theLeader = (asked: HubProcess[]): Promise<HubProcess> =>
    eventually("one leads", async () => {
      const leaders = await leadersAmong(asked);
      return leaders.length === 1 ? leaders[0] : undefined;
    });

  test("that is killed is followed by another hub, and comes back as one of the others", async () => {
    const first = await theLeader(hubs);
    const others = hubs.filter((hub) => hub !== first);
    await first.kill();
    const second = await theLeader(others);
    await eventually("the others count two", async () => (await healthOf(second)).hubs === 2);
    await first.start();
    await eventually("they are three", async () => (await healthOf(second)).hubs === 3);
    expect(await leadersAmong(hubs)).toEqual([second]);
  });

  test("that is frozen loses the lead, and knows it as soon as it goes on", async () => {
    const frozen = await theLeader(hubs);
    const others = hubs.filter((hub) => hub !== frozen);
    frozen.signal("SIGSTOP");
    onTestFinished(() => frozen.signal("SIGCONT"));
    const next = await theLeader(others);
    frozen.signal("SIGCONT");
    // Its first answer, whatever it finds out first after waking up.
    expect((await healthOf(frozen)).leader).toBe(false);
    await eventually("it is back", async () => (await healthOf(frozen)).hubs === 3);
    expect(await leadersAmong(hubs)).toEqual([next]);
  });

  test("whose connection is cut is followed, or leads again, and there is never a second one", async () => {
    await theLeader(hubs);
    await withClient(cluster.url("postgres"), async (client) => {
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1465010516
          AND objid = 5 AND granted`,
      );
      expect(rowCount).toBe(1);
    });
    await theLeader(hubs);
    for (const hub of hubs) await eventually("all are back", async () => (await healthOf(hub)).hubs === 3);
  });
});
