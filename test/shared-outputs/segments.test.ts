import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { S3Segments } from "../../src/objects/s3/s3-segments.ts";
import type { OutputName, Outputs } from "../../src/output/outputs.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { noPostgres, withClient } from "../support/postgres-cluster.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startedForAll } from "../support/use-hub.ts";
import { collect, openFolder, SharedPlace, smallBounds, unstopped } from "./shared-under-test.ts";

const jobId = "0198c0de-0000-7000-8000-abcdef012345";
const stdout: OutputName = { jobId, attempt: 1, stream: "stdout" };
const entry = join(import.meta.dirname, "dying-compactor.ts");
const patient = { idleMs: 0, staleMs: 3_600_000 };
const impatient = { idleMs: 0, staleMs: 0 };

describe.skipIf(noPostgres !== undefined)(`segments of outputs${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  const s3 = startedForAll(startS3Server);
  let place: SharedPlace;
  let root: string;
  const opened: Outputs[] = [];

  beforeEach(() => {
    s3.proxy.fault = undefined;
    place = new SharedPlace(smallBounds);
    root = mkdtempSync(join(tmpdir(), "writ-segments-"));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((outputs) => outputs.close()));
    await place.remove();
    rmSync(root, { recursive: true, force: true });
  });

  async function open(options: Parameters<SharedPlace["open"]>[0] = {}) {
    const outputs = await place.open(options);
    opened.push(outputs);
    return outputs;
  }

  async function write(outputs: Outputs, output: OutputName, bytes: Buffer): Promise<void> {
    await outputs.append(output, { offset: 0, bytes });
  }

  const all = (outputs: Outputs, end: number, output = stdout) =>
    collect(outputs.read(output, { start: 0, end }));

  test("in a place that a hub does not know are refused with the setting that is missing", async () => {
    const hub = await open({ places: { folder: await openFolder(place, root) } });
    await write(hub, stdout, randomBytes(30_000));
    await hub.compact(unstopped);
    await expect(all(await open(), 30_000)).rejects.toMatchObject({
      code: "OUTPUT_ELSEWHERE",
      message: expect.stringContaining("WRIT_OUTPUTS_DIR"),
    });
  });

  test("are not made while the object store is away, and nothing is lost meanwhile", async () => {
    const clock = { ...systemClock, sleep: async () => {} };
    const outputs = await open({ places: { bucket: new S3Segments(s3.settings, clock) } });
    const bytes = randomBytes(50_000);
    await write(outputs, stdout, bytes.subarray(0, 30_000));
    s3.proxy.fault = () => ({ kind: "status", status: 503, code: "SlowDown" });
    await expect(outputs.compact(unstopped)).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
    await outputs.append(stdout, { offset: 30_000, bytes: bytes.subarray(30_000) });
    expect((await all(outputs, 50_000)).equals(bytes)).toBe(true);
    s3.proxy.fault = undefined;
    await outputs.compact(unstopped);
    expect(await countOf("output_chunks")).toBe(0);
    expect((await all(outputs, 50_000)).equals(bytes)).toBe(true);
    s3.proxy.fault = () => ({ kind: "cut answer", afterBytes: 10 });
    await expect(all(outputs, 50_000)).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
    s3.proxy.fault = undefined;
    await outputs.remove(jobId);
    await outputs.compact(unstopped);
    expect(s3.keys()).toEqual([]);
  });

  test("the hub that makes one is killed when the object is complete: nothing is lost, doubled or left", async () => {
    const hub = await open({ places: { folder: await openFolder(place, root) }, times: patient });
    const bytes = randomBytes(30_000);
    await write(hub, stdout, bytes);
    const args = [await place.url(), root, JSON.stringify(smallBounds)];
    const child = spawn(process.execPath, [entry, ...args], { stdio: ["ignore", "inherit", "inherit"] });
    const [, signal] = await once(child, "exit");
    expect(signal).toBe("SIGKILL");
    expect(objectsIn(root)).toHaveLength(1);
    const [left] = objectsIn(root);
    expect((await all(hub, 30_000)).equals(bytes)).toBe(true);
    // What may still be under way is not touched.
    await hub.compact(unstopped);
    expect(objectsIn(root)).toEqual([left]);
    const later = await open({ places: { folder: await openFolder(place, root) }, times: impatient });
    await later.compact(unstopped);
    await later.compact(unstopped);
    expect(objectsIn(root)).toHaveLength(2);
    expect(objectsIn(root)).not.toContain(left);
    expect(await countOf("output_segments")).toBe(2);
    expect(await countOf("output_chunks")).toBe(0);
    expect((await all(hub, 30_000)).equals(bytes)).toBe(true);
  });

  test("of a hub that is declared dead while it still lives: its object is not kept", async () => {
    const whilePut = Promise.withResolvers<void>();
    const declared = Promise.withResolvers<void>();
    const folder = await openFolder(place, root);
    const slow = await open({
      places: { folder },
      times: patient,
      failpoint: async () => {
        whilePut.resolve();
        await declared.promise;
      },
    });
    const bytes = randomBytes(15_000);
    await write(slow, stdout, bytes);
    const compacting = slow.compact(unstopped);
    await whilePut.promise;
    const quick = await open({ places: { folder }, times: impatient });
    // The first call finds the segment stale, the second makes another.
    await quick.compact(unstopped);
    await quick.compact(unstopped);
    declared.resolve();
    await compacting;
    expect(objectsIn(root)).toHaveLength(1);
    expect((await all(quick, 15_000)).equals(bytes)).toBe(true);
  });

  test("an output that grows meanwhile keeps its chunks until the next try", async () => {
    const folder = await openFolder(place, root);
    let grows = true;
    const outputs = await open({
      places: { folder },
      failpoint: async () => {
        if (grows) await outputs.append(stdout, { offset: 500, bytes: Buffer.alloc(100, "b") });
        grows = false;
      },
    });
    await write(outputs, stdout, Buffer.alloc(500, "a"));
    await outputs.compact(unstopped);
    expect(String(await all(outputs, 600))).toBe("a".repeat(500) + "b".repeat(100));
    await outputs.compact(unstopped);
    expect(await countOf("output_chunks")).toBe(0);
    expect(String(await all(outputs, 600))).toBe("a".repeat(500) + "b".repeat(100));
    expect(objectsIn(root)).toHaveLength(1);
  });

  test("go with their job or attempt, rows and objects, in the folder and in the bucket", async () => {
    const folder = await openFolder(place, root);
    const before = await open({ places: { folder } });
    for (const attempt of [1, 2]) await write(before, { ...stdout, attempt }, randomBytes(50_000));
    await before.compact(unstopped);
    const places = { folder, bucket: new S3Segments(s3.settings, systemClock) };
    const outputs = await open({ places });
    await write(outputs, { ...stdout, attempt: 3 }, randomBytes(50_000));
    await outputs.compact(unstopped);
    expect(objectsIn(root)).toHaveLength(6);
    expect(s3.keys()).toHaveLength(3);
    await outputs.removeAttempts(jobId, [1]);
    await outputs.compact(unstopped);
    expect(objectsIn(root)).toHaveLength(3);
    await outputs.remove(jobId);
    await outputs.compact(unstopped);
    expect([...objectsIn(root), ...s3.keys()]).toEqual([]);
    for (const table of ["outputs", "output_chunks", "output_segments"]) expect(await countOf(table)).toBe(0);
  });

  test("that cannot be removed now are removed later, and the others all the same", async () => {
    const clock = { ...systemClock, sleep: async () => {} };
    const outputs = await open({ places: { bucket: new S3Segments(s3.settings, clock) } });
    await write(outputs, stdout, randomBytes(50_000));
    await outputs.compact(unstopped);
    await outputs.remove(jobId);
    let deletes = 0;
    s3.proxy.fault = (method) =>
      method === "DELETE" && deletes++ > 0 ? { kind: "status", status: 503, code: "SlowDown" } : undefined;
    await expect(outputs.compact(unstopped)).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
    expect(s3.keys()).toHaveLength(2);
    expect(await countOf("output_segments")).toBe(2);
    s3.proxy.fault = undefined;
    await outputs.compact(unstopped);
    expect(s3.keys()).toEqual([]);
  });

  async function countOf(table: string): Promise<number> {
    let count = 0;
    await withClient(await place.url(), async (client) => {
      const { rows } = await client.query(`SELECT count(*)::int AS n FROM writ.${table}`);
      count = rows[0].n;
    });
    return count;
  }
});

function objectsIn(root: string): string[] {
  const names = readdirSync(root, { recursive: true, withFileTypes: true });
  return names
    .filter((name) => name.isFile() && !name.name.startsWith("."))
    .map(({ name }) => name)
    .sort();
}
