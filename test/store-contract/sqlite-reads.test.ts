import { renameSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { resultOf, Scene } from "./scene.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

const scenes: Scene[] = [];

async function openScene(settings: Parameters<typeof sqliteUnderTest>[0] = {}) {
  const under = sqliteUnderTest(settings);
  const scene = await Scene.open(under);
  scenes.push(scene);
  return { scene, path: under.path };
}

afterEach(async () => {
  for (const scene of scenes.splice(0)) await scene.end();
});

describe("a read", () => {
  it("that takes long holds up no write", async () => {
    const failpointModule = new URL("./fixtures/held-read.ts", import.meta.url).href;
    const { scene, path } = await openScene({ failpointModule });
    const before = await scene.submit();
    const order: string[] = [];
    const list = scene.store.listJobs({ limit: 10 }).finally(() => order.push("list"));
    const claimed = await scene.claim();
    await scene.submit();
    await scene.change(claimed, resultOf("1"));
    order.push("submission, claim and result");
    writeFileSync(`${path}.go`, "");
    expect((await list).jobs.map(({ job }) => job.id)).toContain(before);
    expect(order).toEqual(["submission, claim and result", "list"]);
  });

  it("sees every write that was answered before it was asked for", async () => {
    const { scene } = await openScene();
    for (let round = 0; round < 100; round++) {
      const id = await scene.submit();
      const [page, { count }, events] = await Promise.all([
        scene.store.listJobs({ limit: 1 }),
        scene.store.countJobs({ statuses: ["pending"] }),
        scene.store.readEvents({ jobId: id, afterSeq: 0, limit: 1 }),
      ]);
      expect(page.jobs.map(({ job }) => job.id)).toEqual([id]);
      expect(count).toBe(round + 1);
      expect(events.map(({ event }) => event)).toEqual(["JOB_CREATED"]);
      expect(page.lastEventSeq).toBe(events[0]!.seq);
    }
  });

  it("is refused while the database is not the file that was opened, and answered when it is put back", async () => {
    const { scene, path } = await openScene();
    const id = await scene.submit();
    const ids = async () => (await scene.store.listJobIds({ limit: 9 })).ids;
    expect(await ids()).toEqual([id]);
    renameSync(path, `${path}.away`);
    writeFileSync(path, "");
    // Whether the names still lead to the files is looked at now and then.
    const refusal = () =>
      ids().then(
        () => null,
        (error: unknown) => error,
      );
    await expect.poll(refusal).toMatchObject({ code: "STORE_UNAVAILABLE", details: { lost: path } });
    renameSync(`${path}.away`, path);
    expect(await ids()).toEqual([id]);
  });

  it("of a database that was replaced before anything was read is refused too", async () => {
    const { scene, path } = await openScene();
    await scene.submit();
    renameSync(path, `${path}.away`);
    writeFileSync(path, "");
    const read = scene.store.listJobs({ limit: 9 });
    await expect(read).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", details: { lost: path } });
    renameSync(`${path}.away`, path);
  });
});
