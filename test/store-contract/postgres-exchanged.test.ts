import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgresStore } from "../../src/store/postgres/open-store.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { macKey, Scene } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";

describe.skipIf(noPostgres !== undefined)(
  `a database that is exchanged under an open store${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
    });
    afterAll(() => cluster.stop());

    const onServer = (...statements: string[]) =>
      withClient(cluster.url("postgres"), async (client) => {
        for (const statement of statements) await client.query(statement);
      });
    const open = (name: string) =>
      Scene.open({
        open: () => openPostgresStore({ url: cluster.url(name), macKey }),
      } as StoreUnderTest);
    const lost = (reason: string) => ({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining(reason),
    });

    test("a state to which others have added since is not taken for the one that was lost", async () => {
      await onServer("CREATE DATABASE forked");
      await (await open("forked")).store.close();
      await onServer("CREATE DATABASE older TEMPLATE forked");
      const scene = await open("forked");
      await scene.submitAll([scene.newJob()]);
      await onServer("DROP DATABASE forked WITH (FORCE)", "ALTER DATABASE older RENAME TO forked");
      const other = await open("forked");
      // Scenes count their jobs alike, and real hubs do not.
      other.newJob();
      for (let count = 0; count < 5; count++) await other.submitAll([other.newJob()]);
      await other.store.close();
      const submitted = scene.submitAll([scene.newJob()]);
      await expect(submitted).rejects.toMatchObject(lost("is another one"));
      await expect(scene.store.listJobIds({ limit: 1 })).rejects.toMatchObject(lost("is another one"));
      await scene.store.close();
    });

    test("an older state that is loaded while connections stay open is noticed with the next look", async () => {
      await onServer("CREATE DATABASE loaded");
      const scene = await open("loaded");
      await scene.submitAll([scene.newJob()]);
      const { lastSeq } = await scene.store.getDatabase();
      const setLast = (last: number) =>
        withClient(cluster.url("loaded"), (client) =>
          client.query("UPDATE writ.log_state SET last = $1", [last]),
        );
      await setLast(lastSeq - 1);
      await expect(scene.store.getDatabase()).rejects.toMatchObject(lost("has lost its newest part"));
      const submitted = scene.submitAll([scene.newJob()]);
      await expect(submitted).rejects.toMatchObject(lost("has lost its newest part"));
      await setLast(lastSeq);
      expect(await scene.submitAll([scene.newJob()])).toMatchObject({ kind: "accepted" });
      await scene.store.close();
    });
  },
);
