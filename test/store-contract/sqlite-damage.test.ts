import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { checkDatabase } from "../../src/store/sqlite/database/check-database.ts";
import { resultOf, Scene } from "./scene.ts";
import { withDatabase } from "./sqlite-tamper.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

const pageBytes = 8_192;
const scenes: Scene[] = [];

afterEach(async () => {
  for (const scene of scenes.splice(0)) await scene.end();
});

async function openScene() {
  const under = sqliteUnderTest();
  const scene = await Scene.open(under);
  scenes.push(scene);
  return { scene, path: under.path };
}

/** Long enough for several pages of its own. */
const longText = (mark: string) => JSON.stringify({ text: mark.repeat(3_000) });

/** Breaks the chain of pages that a long text is stored in, as a bad sector would. */
async function breakPage(scene: Scene, path: string, mark: string): Promise<void> {
  await scene.store.close();
  const bytes = readFileSync(path);
  const whole = mark.repeat(pageBytes / mark.length - 2);
  const pages = Array.from({ length: bytes.length / pageBytes }, (_, index) => index * pageBytes);
  const page = pages.find((at) => bytes.subarray(at, at + pageBytes).includes(whole));
  // Such a page begins with the number of the next one.
  const file = openSync(path, "r+");
  writeSync(file, Buffer.from("ffffffff", "hex"), 0, 4, page);
  closeSync(file);
  scene.store = await scene.under.open();
}

describe("a page of the database that is broken", () => {
  it("A8: takes away the one document in it, not the list, and not the claims of others", async () => {
    const { scene, path } = await openScene();
    const ids = [
      await scene.submit(),
      await scene.submit({ document: longText("broken..") }),
      await scene.submit(),
    ];
    await breakPage(scene, path, "broken..");
    const { jobs: listed } = await scene.store.listJobs({ limit: 10, tenantId: "acme" });
    const damaged = new Map(listed.map(({ job, damaged }) => [job.id, damaged]));
    expect([...damaged.keys()]).toEqual(ids.toReversed());
    expect(ids.map((id) => damaged.get(id))).toEqual([[], ["document"], []]);
    expect((await scene.store.listJobs({ limit: 10, tenantId: "other" })).jobs).toEqual([]);
    expect(await scene.store.getJob({ jobId: ids[1]! })).toMatchObject({
      document: "",
      damaged: ["document"],
    });
    expect(await scene.claimIds(5)).toEqual([ids[0], ids[2]]);
  });

  it("A8: that a claim meets ends that claim only; from then on its job is passed over", async () => {
    const { scene, path } = await openScene();
    const first = await scene.submit();
    await scene.submit({ document: longText("broken..") });
    const last = await scene.submit();
    await breakPage(scene, path, "broken..");
    await expect(scene.claimIds(5)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(await scene.claimIds(5)).toEqual([first, last]);
  });

  it("A8: that somebody reads does not make the writes of others fail", async () => {
    const { scene, path } = await openScene();
    const broken = await scene.submit({ document: longText("broken..") });
    await breakPage(scene, path, "broken..");
    const [read, submitted] = await Promise.all([scene.store.getJob({ jobId: broken }), scene.submit()]);
    expect(read).toMatchObject({ job: { id: broken }, damaged: ["document"] });
    expect(await scene.job(submitted)).toMatchObject({ status: "pending" });
  });

  it("A8: takes away most of one row, and what is left of it is still listed", async () => {
    const { scene, path } = await openScene();
    const broken = await scene.submitAndStart();
    await scene.change(broken, resultOf(longText("broken..")));
    const whole = await scene.submitAndStart();
    await scene.change(whole, resultOf("{}"));
    await breakPage(scene, path, "broken..");
    expect(await scene.store.getJob({ jobId: broken.job.id })).toMatchObject({
      job: { id: broken.job.id, tenantId: "acme", result: null },
      damaged: ["row"],
    });
    // A list does not read what is large.
    const { jobs } = await scene.store.listJobs({ limit: 10 });
    expect(jobs.map(({ job }) => job.id)).toEqual([whole.job.id, broken.job.id]);
    expect((await scene.store.getJob({ jobId: whole.job.id }))!.damaged).toEqual([]);
  });

  it("A8: is found by a check of the whole file, and an intact file passes it", async () => {
    const { scene, path } = await openScene();
    await scene.submit({ document: longText("broken..") });
    const { signal } = new AbortController();
    expect(await checkDatabase(path, signal)).toEqual([]);
    await breakPage(scene, path, "broken..");
    expect((await checkDatabase(path, signal)).length).toBeGreaterThan(0);
    await expect(checkDatabase(path, AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
  });
});

it("A8: a hash that a worker chose, in a job of an earlier version, is not damage", async () => {
  const { scene, path } = await openScene();
  const claimed = await scene.submitAndStart();
  await scene.change(claimed, { ...resultOf("{}"), resultHash: "chosen" });
  const damage = async () => (await scene.store.getJob({ jobId: claimed.job.id }))!.damaged;
  expect(await damage()).toEqual(["result"]);
  withDatabase(path, (database) =>
    database.exec("UPDATE tallies SET value = 1 WHERE name = 'unchecked_hash_seq'"),
  );
  expect(await damage()).toEqual([]);
});
