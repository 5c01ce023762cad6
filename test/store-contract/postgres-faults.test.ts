import { connect, createServer, type Server, type Socket } from "node:net";
import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openPostgresStore } from "../../src/store/postgres/open-store.ts";
import { eventually } from "../support/eventually.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { macKey, Scene } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";

describe.skipIf(noPostgres !== undefined)(
  `faults of PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    let made = 0;
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
    });
    afterAll(() => cluster.stop());

    async function newDatabase(): Promise<string> {
      const name = `f${++made}`;
      await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
      return cluster.url(name);
    }

    /** A store in a new database, by a connection that can be cut. */
    async function openThroughCable() {
      const url = await newDatabase();
      const cable = new CuttableCable(cluster.port);
      await cable.listen();
      onTestFinished(() => cable.close());
      const through = url.replace(/:\d+\//, `:${cable.port}/`);
      const under = { open: () => openPostgresStore({ url: through, macKey }) } as StoreUnderTest;
      return { url, cable, scene: await Scene.open(under) };
    }

    test("a newer schema is refused, and other keys are", async () => {
      const url = await newDatabase();
      await (await openPostgresStore({ url, macKey })).close();
      await expect(openPostgresStore({ url, macKey: Buffer.alloc(32, 9) })).rejects.toMatchObject({
        code: "KEY_REJECTED",
      });
      await withClient(url, (client) => client.query("INSERT INTO writ.schema_steps VALUES (99, 'later')"));
      await expect(openPostgresStore({ url, macKey })).rejects.toMatchObject({
        code: "STORE_UNAVAILABLE",
        message: expect.stringContaining("the database has schema 99"),
      });
    });

    test("several that open a new database at once all find it migrated", async () => {
      const url = await newDatabase();
      const stores = await Promise.all([1, 2, 3].map(() => openPostgresStore({ url, macKey })));
      const ids = await Promise.all(stores.map(async (store) => (await store.getDatabase()).id));
      expect(new Set(ids).size).toBe(1);
      await Promise.all(stores.map((store) => store.close()));
    });

    test("partitions of the log are made ahead of it, and given up whole when all their events are old", async () => {
      const url = await newDatabase();
      const scene = await Scene.open({ open: () => openPostgresStore({ url, macKey }) } as StoreUnderTest);
      const tables = () => partitionsOf(url);
      expect(await tables()).toEqual(["audit_seals_0", "audit_seals_1", "events_0", "events_1"]);
      const submit = () => scene.submitAll([scene.newJob()]);
      await submit();
      await scene.store.skipEvents({ throughSeq: 4_999_998, hash: "a".repeat(64) });
      for (let count = 0; count < 4; count++) await submit();
      expect(await scene.store.eventRange()).toEqual({ first: 1, last: 5_000_002 });
      expect(await scene.store.readEvents({ afterSeq: 4_999_998, limit: 100 })).toHaveLength(4);

      await scene.store.pruneEvents({ throughSeq: 4_999_998, limit: 100 });
      expect(await tables()).toContain("events_0");
      expect(await scene.store.pruneEvents({ throughSeq: 5_000_000, limit: 100 })).toEqual({ removed: 2 });
      expect(await tables()).not.toContain("events_0");
      expect(await scene.store.eventRange()).toEqual({ first: 5_000_001, last: 5_000_002 });

      await scene.store.skipEvents({ throughSeq: 8_000_000, hash: "b".repeat(64) });
      await submit();
      await eventually("the next partition", async () => (await tables()).includes("events_2"));
      await scene.store.pruneEvents({ throughSeq: 8_000_000, limit: 100 });
      expect(await scene.store.eventRange()).toEqual({ first: 8_000_001, last: 8_000_001 });
      expect((await scene.store.listJobIds({ limit: 10 })).ids).toHaveLength(6);
      await scene.store.close();
    });

    test("a connection that is cut around a commit leaves no job in doubt", async () => {
      const { cable, scene } = await openThroughCable();
      const accepted: string[] = [];
      for (let round = 0; round < 200; round++) {
        const job = scene.newJob();
        cable.cutAtCommit = round % 2 === 0 ? "before" : "after";
        const outcome = await scene.submitAll([job]).catch(() => null);
        if (outcome?.kind === "accepted") accepted.push(job.id);
      }
      cable.cutAtCommit = null;
      const { ids } = await scene.store.listJobIds({ limit: 1_000 });
      expect(ids.toSorted()).toEqual(accepted.toSorted());
      // Half of the commits arrived although their answers did not.
      expect(accepted.length).toBeGreaterThanOrEqual(100);
      await scene.store.close();
    });

    test("a commit that the server still works on when its connection is lost is given up for good", async () => {
      const { url, cable, scene } = await openThroughCable();
      const [kept, lost] = [scene.newJob(), scene.newJob()];
      expect(await scene.submitAll([kept])).toMatchObject({ kind: "accepted" });

      await withClient(url, async (locker) => {
        await locker.query("BEGIN; LOCK TABLE writ.jobs IN SHARE MODE");
        const submitted = scene.submitAll([lost]).then(
          () => "kept",
          () => "not kept",
        );
        const pid = await untilLocked(locker);
        cable.lose();
        expect(await submitted).toBe("not kept");
        await locker.query("COMMIT");
        await untilIdle(locker, pid);
      });
      const next = scene.newJob();
      expect(await scene.submitAll([next])).toMatchObject({ kind: "accepted" });
      expect((await scene.store.listJobIds({ limit: 10 })).ids.toSorted()).toEqual(
        [kept.id, next.id].toSorted(),
      );
      await scene.store.close();
    });

    test("calls that share a commit of unknown outcome are told so, and none is done again", async () => {
      const { url, cable, scene } = await openThroughCable();
      await scene.submitAll([scene.newJob()]);
      await withClient(url, async (locker) => {
        await locker.query("BEGIN; LOCK TABLE writ.jobs IN SHARE MODE");
        const outcomes = [1, 2, 3].map(() => scene.submitAll([scene.newJob()]).catch(String));
        const pid = await untilLocked(locker);
        cable.isDown = true;
        cable.lose();
        const unknown = expect.stringContaining("whether the call was stored is not known");
        expect(await Promise.all(outcomes)).toEqual([unknown, unknown, unknown]);
        await locker.query("COMMIT");
        await untilIdle(locker, pid);
      });
      cable.isDown = false;
      expect((await scene.store.listJobIds({ limit: 10 })).ids).toHaveLength(4);
      await scene.store.close();
    });
  },
);

/** Until the server waits for a lock in the middle of a transaction; the process of it that does. */
async function untilLocked(locker: Client): Promise<number> {
  const text =
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  return eventually("the server waits for the lock", async () => {
    return (await locker.query<{ pid: number }>(text)).rows[0]?.pid;
  });
}

async function untilIdle(locker: Client, pid: number): Promise<void> {
  const text = `SELECT FROM pg_stat_activity WHERE pid = ${pid} AND state <> 'idle'`;
  await eventually("its work is done", async () => (await locker.query(text)).rowCount === 0);
}

async function partitionsOf(url: string): Promise<string[]> {
  const text = `SELECT c.relname AS name FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relkind = 'r' ORDER BY 1`;
  let names: string[] = [];
  await withClient(url, async (client) => {
    names = (await client.query<{ name: string }>(text)).rows.map(({ name }) => name);
  });
  return names;
}

/** Cuts a connection when a commit passes: before it reaches the server, or when the answer comes back. */
class CuttableCable {
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #near = new Set<Socket>();
  port = 0;
  cutAtCommit: "before" | "after" | null = null;
  /** Ends each new connection at once. */
  isDown = false;

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((near) => this.#join(near));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.port = (this.#server.address() as { port: number }).port;
  }

  /** The hub loses every connection, and the server does not hear of it, as when a network between them fails. */
  lose(): void {
    for (const near of this.#near) near.removeAllListeners("close").destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(near: Socket): void {
    if (this.isDown) {
      near.destroy();
      return;
    }
    const far = connect(this.#target, "127.0.0.1");
    const cut = () => {
      near.destroy();
      far.destroy();
    };
    let isCommitting = false;
    this.#near.add(near);
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("error", cut).on("close", cut);
    }
    near.on("data", (bytes) => {
      const isCommit = bytes.includes("finish_group") || bytes.includes("COMMIT");
      if (isCommit && this.cutAtCommit === "before") {
        this.cutAtCommit = null;
        cut();
        return;
      }
      if (isCommit && this.cutAtCommit === "after") isCommitting = true;
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (isCommitting && bytes.includes("COMMIT")) {
        this.cutAtCommit = null;
        cut();
        return;
      }
      near.write(bytes);
    });
  }
}
