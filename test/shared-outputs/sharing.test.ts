import { randomBytes, randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hasCode, WritError } from "../../src/core/errors.ts";
import { FolderOutputs } from "../../src/output/folder/folder-outputs.ts";
import type { OutputName, Outputs } from "../../src/output/outputs.ts";
import { noPostgres, withClient } from "../support/postgres-cluster.ts";
import { collect, openFolder, SharedPlace, smallBounds, unstopped } from "./shared-under-test.ts";

const jobId = "0198c0de-0000-7000-8000-abcdef012345";
const stdout: OutputName = { jobId, attempt: 1, stream: "stdout" };

describe.skipIf(noPostgres !== undefined)(
  `hubs that share outputs${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let place: SharedPlace;
    let root: string;
    const opened: Outputs[] = [];

    beforeEach(() => {
      root = mkdtempSync(join(tmpdir(), "writ-sharing-"));
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

    test("a chunk that is sent again through another hub is refused with the size, whatever it contains", async () => {
      place = new SharedPlace();
      const [b, c] = [await open(), await open()];
      const chunk = { offset: 0, bytes: Buffer.from("hello") };
      expect(await b.append(stdout, chunk)).toEqual({ size: 5 });
      for (const bytes of ["hello", "other", ""]) {
        const again = c.append(stdout, { offset: 0, bytes: Buffer.from(bytes) });
        await expect(again).rejects.toMatchObject({ code: "OUTPUT_OFFSET", details: { size: 5 } });
      }
      expect(String(await collect(c.read(stdout, { start: 0, end: 5 })))).toBe("hello");
    });

    test("more appends at once than a sender can mean are refused", async () => {
      place = new SharedPlace();
      const outputs = await open();
      const appends = Array.from({ length: 100 }, () =>
        outputs.append(stdout, { offset: 0, bytes: Buffer.from("x") }),
      );
      const results = await Promise.allSettled(appends);
      const codes = results.map((result) => (result.status === "rejected" ? result.reason.code : "ok"));
      expect(codes.filter((code) => code === "ok")).toHaveLength(1);
      expect(codes.filter((code) => code === "OUTPUT_UNAVAILABLE")).toHaveLength(36);
    });

    test("a writer at one hub, followers at others that are cut off and come back: no byte is missing or doubled", async () => {
      place = new SharedPlace(smallBounds);
      const folder = { folder: await openFolder(place, root) };
      const hubs: Outputs[] = [];
      for (let n = 0; n < 3; n++) hubs.push(await open({ places: folder }));
      const end = Promise.withResolvers<void>();
      const compacting: Promise<void>[] = [];
      const followers = Array.from({ length: 6 }, (_, n) =>
        followWithCuts(hubs, n * 1_000, () => end.promise),
      );
      const whole = randomBytes(120_000);
      for (let at = 0; at < whole.length; ) {
        // Usually lines, sometimes more than a chunk; the hub changes with each.
        const bytes = whole.subarray(at, at + randomInt(1, randomInt(10) === 0 ? 12_000 : 1_500));
        at = (await hubs[randomInt(3)]!.append(stdout, { offset: at, bytes })).size;
        if (randomInt(4) === 0) compacting.push(hubs[randomInt(3)]!.compact(unstopped));
      }
      end.resolve();
      for (const [n, bytes] of (await Promise.all(followers)).entries())
        expect(bytes.equals(whole.subarray(n * 1_000))).toBe(true);
      await Promise.all(compacting);
      await hubs[0]!.compact(unstopped);
      expect((await collect(hubs[2]!.read(stdout, { start: 0, end: whole.length }))).equals(whole)).toBe(
        true,
      );
      expect(await rowsOf(place, "output_chunks")).toEqual([]);
    });

    test("a follower hears of what another hub appends and removes, without a look of its own", async () => {
      place = new SharedPlace();
      // No look follows after a second here: the clock stands still.
      const still = { sleep: () => new Promise<void>(() => {}) };
      const [b, c] = [await open(), await open({ clock: still })];
      const follower = c.follow(stdout, { offset: 0, ended: () => new Promise(() => {}), signal: unstopped });
      for (let at = 0; at < 5; at++) {
        const next = follower.next();
        await b.append(stdout, { offset: at, bytes: Buffer.from("x") });
        expect(String((await next).value)).toBe("x");
      }
      const removed = expect(follower.next()).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
      await b.remove(jobId);
      await removed;
    });

    test("connections that the server ends at any moment cost a sender another try, and nothing else", async () => {
      place = new SharedPlace(smallBounds);
      const outputs = await open({ places: { folder: await openFolder(place, root) } });
      const end = Promise.withResolvers<void>();
      const following = followWithCuts([outputs], 0, () => end.promise);
      const whole = randomBytes(60_000);
      for (let at = 0, step = 0; at < whole.length; step++) {
        const bytes = whole.subarray(at, at + 700);
        const appending = outputs.append(stdout, { offset: at, bytes }).catch((error: WritError) => error);
        if (step % 10 === 5) await endConnections(await place.url());
        const answer = await appending;
        if (!(answer instanceof WritError)) at = answer.size;
        else if (answer.code === "OUTPUT_OFFSET") at = (answer.details as { size: number }).size;
        else expect(answer.code).toBe("OUTPUT_UNAVAILABLE");
        if (step % 20 === 7) await outputs.compact(unstopped).catch(() => {});
      }
      end.resolve();
      expect((await following).equals(whole)).toBe(true);
    });

    test("lines become chunks of 32 KiB, and large appends chunks of at most 256 KiB", async () => {
      place = new SharedPlace();
      const outputs = await open();
      const line = Buffer.alloc(1_000, "x");
      let size = 0;
      for (let n = 0; n < 100; n++) ({ size } = await outputs.append(stdout, { offset: size, bytes: line }));
      const large = randomBytes(700_000);
      ({ size } = await outputs.append(stdout, { offset: size, bytes: large }));
      const lengths = await chunkLengths(place);
      expect(lengths).toEqual([33_000, 33_000, 33_000, 1_000, 262_144, 262_144, 175_712]);
      const pieces = await Array.fromAsync(outputs.read(stdout, { start: 0, end: size }));
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(256 * 1024);
      expect(Buffer.concat(pieces).subarray(100_000).equals(large)).toBe(true);
      expect((await collect(outputs.read(stdout, { start: 99_999, end: 362_150 }))).subarray(1)).toEqual(
        large.subarray(0, 262_150),
      );
    });

    test("outputs of a home are copied through the seam, and a copy that was interrupted is repeated", async () => {
      place = new SharedPlace(smallBounds);
      const home = new FolderOutputs(join(root, "outputs"));
      const shared = await open();
      const bytes = randomBytes(600_000);
      const otherId = jobId.replace("012345", "012346");
      await home.append(stdout, { offset: 0, bytes });
      await home.append(
        { jobId: otherId, attempt: 3, stream: "stderr" },
        { offset: 0, bytes: Buffer.from("e") },
      );
      await shared.append(stdout, { offset: 0, bytes: bytes.subarray(0, 1_234) });
      for (let time = 0; time < 2; time++) await copyAll(home, shared);
      expect((await collect(shared.read(stdout, { start: 0, end: bytes.length }))).equals(bytes)).toBe(true);
      expect(await shared.sizes({ jobId: otherId, attempt: 3 })).toEqual({ stdout: 0, stderr: 1 });
      await home.close();
    });
  },
);

/** A client whose connection breaks again and again: it goes on where it was, at any hub. */
async function followWithCuts(hubs: Outputs[], offset: number, ended: () => Promise<void>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let position = offset;
  while (true) {
    const cut = new AbortController();
    let left = randomInt(1, 40);
    try {
      const options = { offset: position, ended, signal: cut.signal };
      for await (const piece of hubs[randomInt(hubs.length)]!.follow(stdout, options)) {
        pieces.push(piece);
        position += piece.length;
        if (--left === 0) cut.abort(new WritError("OUTPUT_UNAVAILABLE", "cut"));
      }
      return Buffer.concat(pieces);
    } catch (error) {
      if (!hasCode(error, "OUTPUT_UNAVAILABLE")) throw error;
    }
  }
}

async function copyAll(from: Outputs, to: Outputs): Promise<void> {
  for await (const jobIds of from.listJobs()) {
    for (const id of jobIds) {
      for (const attempt of await from.listAttempts(id)) {
        const [sizes, done] = [
          await from.sizes({ jobId: id, attempt }),
          await to.sizes({ jobId: id, attempt }),
        ];
        for (const stream of ["stdout", "stderr"] as const) {
          const output = { jobId: id, attempt, stream };
          let offset = done[stream];
          for await (const bytes of from.read(output, { start: offset, end: sizes[stream] }))
            offset = (await to.append(output, { offset, bytes })).size;
        }
      }
      await to.sync(id);
    }
  }
}

async function rowsOf(place: SharedPlace, table: string): Promise<unknown[]> {
  let rows: unknown[] = [];
  await withClient(await place.url(), async (client) => {
    ({ rows } = await client.query(`SELECT output_id, start FROM writ.${table}`));
  });
  return rows;
}

async function chunkLengths(place: SharedPlace): Promise<number[]> {
  let lengths: number[] = [];
  await withClient(await place.url(), async (client) => {
    const { rows } = await client.query("SELECT length(bytes) AS n FROM writ.output_chunks ORDER BY start");
    lengths = rows.map(({ n }) => n as number);
  });
  return lengths;
}

async function endConnections(url: string): Promise<void> {
  await withClient(url, (client) =>
    client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'writ'",
    ),
  );
}
