import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { OutputName, Outputs } from "../../src/output/outputs.ts";

/** A place for outputs; each `open` is what another hub would do with it. */
export type OutputsUnderTest = { open(): Outputs | Promise<Outputs>; remove(): void | Promise<void> };

const jobId = "0198c0de-0000-7000-8000-abcdef012345";
const otherId = "0198c0de-0000-7000-8000-abcdef012346";
const stdout: OutputName = { jobId, attempt: 1, stream: "stdout" };
const stderr: OutputName = { jobId, attempt: 1, stream: "stderr" };
const { signal: unstopped } = new AbortController();

/** Everything that a driver of outputs must do. A second driver is put under it without an edit here. */
export function describeOutputs(name: string, create: () => OutputsUnderTest): void {
  let place: OutputsUnderTest;
  let outputs: Outputs;
  /** Another hub on the same place. */
  let neighbour: Outputs;

  beforeEach(async () => {
    place = create();
    outputs = await place.open();
    neighbour = await place.open();
  });
  afterEach(async () => {
    await Promise.all([outputs.close(), neighbour.close()]);
    await place.remove();
  });

  const append = (output: OutputName, offset: number, bytes: string | Uint8Array) =>
    outputs.append(output, { offset, bytes: Buffer.from(bytes) });
  const read = (output: OutputName, start: number, end: number) =>
    collect(outputs.read(output, { start, end }));
  const follow = (output: OutputName, offset: number, ended: () => Promise<void>, signal = unstopped) =>
    outputs.follow(output, { offset, ended, signal });

  describe(`outputs in ${name}`, () => {
    test.each([
      { ...stdout, jobId: "../../etc/passwd" },
      { ...stdout, jobId: `${jobId}/..` },
      { ...stdout, jobId: jobId.toUpperCase() },
      { ...stdout, jobId: "" },
      { ...stdout, attempt: 0 },
      { ...stdout, attempt: 1.5 },
      { ...stdout, stream: "__proto__" as "stdout" },
    ])("refuse the name %j", async (output) => {
      const refusal = { code: "OUTPUT_UNAVAILABLE" };
      await expect(append(output, 0, "x")).rejects.toMatchObject(refusal);
      await expect((async () => read(output, 0, 1))()).rejects.toMatchObject(refusal);
      await expect((async () => collect(follow(output, 0, over)))()).rejects.toMatchObject(refusal);
    });

    test("refuse an offset that is not the size, say the size and change nothing", async () => {
      await append(stdout, 0, "hello");
      for (const offset of [0, 4, 6, -1, Number.NaN]) {
        await expect(append(stdout, offset, "x")).rejects.toMatchObject({
          code: "OUTPUT_OFFSET",
          details: { size: 5 },
        });
      }
      expect(await read(stdout, 0, 5)).toEqual(Buffer.from("hello"));
    });

    test("let exactly one of several equal offsets win", async () => {
      for (let round = 0; round < 20; round++) {
        const rivals = ["a", "b", "c"].map((letter) => append(stdout, round * 100, letter.repeat(100)));
        const won = (await Promise.allSettled(rivals)).filter(({ status }) => status === "fulfilled");
        expect(won).toHaveLength(1);
      }
      expect(String(await read(stdout, 0, 2000))).toMatch(/^(?:a{100}|b{100}|c{100}){20}$/);
    });

    test("keep random chunks byte for byte, and are the same through another hub", async () => {
      const chunks = Array.from({ length: 40 }, (_, n) => randomBytes((n * 7919) % 70_000));
      let size = 0;
      for (const [n, bytes] of chunks.entries()) {
        const through = n % 3 === 0 ? neighbour : outputs;
        ({ size } = await through.append(stdout, { offset: size, bytes }));
      }
      const whole = Buffer.concat(chunks);
      expect(size).toBe(whole.length);
      expect((await read(stdout, 1000, size - 1000)).equals(whole.subarray(1000, -1000))).toBe(true);
      expect((await collect(neighbour.read(stdout, { start: 0, end: size }))).equals(whole)).toBe(true);
      expect(await neighbour.sizes(stdout)).toEqual({ stdout: size, stderr: 0 });
    });

    test("have no bytes before the first append, and each stream and attempt its own", async () => {
      expect(await outputs.sizes(stdout)).toEqual({ stdout: 0, stderr: 0 });
      await append(stderr, 0, "error");
      await append({ ...stdout, attempt: 2 }, 0, "x");
      expect(await outputs.sizes(stdout)).toEqual({ stdout: 0, stderr: 5 });
      expect(await outputs.sizes({ jobId, attempt: 2 })).toEqual({ stdout: 1, stderr: 0 });
    });

    test("fail when a read finds fewer bytes than it was asked for", async () => {
      await append(stdout, 0, "12345");
      await expect(read(stdout, 0, 6)).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
      await expect(read(stderr, 0, 1)).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
      expect(await read(stdout, 3, 3)).toHaveLength(0);
    });
  });

  describe(`a follower of outputs in ${name}`, () => {
    test("throws the signal's reason while it waits", async () => {
      const stop = new AbortController();
      const reading = collect(follow(stdout, 0, never, stop.signal));
      stop.abort(new Error("enough"));
      await expect(reading).rejects.toThrow("enough");
    });

    test("throws what the end was rejected with", async () => {
      await append(stdout, 0, "abc");
      const reading = collect(follow(stdout, 0, () => Promise.reject(new Error("store gone"))));
      await expect(reading).rejects.toThrow("store gone");
    });

    test("fails when the output is removed before its end", async () => {
      await append(stdout, 0, "abc");
      const follower = follow(stdout, 0, never);
      expect(String((await follower.next()).value)).toBe("abc");
      const isRefused = expect(follower.next()).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
      await outputs.remove(jobId);
      await isRefused;
    });

    test("yields nothing at or beyond the end, and nothing when nothing was ever written", async () => {
      expect(await collect(follow(stdout, 0, over))).toHaveLength(0);
      await append(stdout, 0, "abc");
      expect(await collect(follow(stdout, 3, over))).toHaveLength(0);
      expect(await collect(follow(stdout, 9, over))).toHaveLength(0);
      expect(String(await collect(follow(stdout, 1, over)))).toBe("bc");
    });

    test("waits for an output that is not there yet, and hears what another hub appends", async () => {
      const end = Promise.withResolvers<void>();
      const follower = follow(stdout, 0, () => end.promise);
      const first = follower.next();
      await turn();
      await neighbour.append(stdout, { offset: 0, bytes: Buffer.from("first ") });
      const kept = (await first).value;
      const second = follower.next();
      await neighbour.append(stdout, { offset: 6, bytes: Buffer.from("second") });
      expect(String((await second).value)).toBe("second");
      end.resolve();
      expect((await follower.next()).done).toBe(true);
      // The piece is the caller's: what was read after it has not changed it.
      expect(String(kept)).toBe("first ");
    });

    test("never loses the last bytes, nor hangs, however appends and end fall together", async () => {
      for (let round = 0; round < 60; round++) {
        const output = { ...stdout, attempt: round + 1 };
        const end = Promise.withResolvers<void>();
        const reading = collect(follow(output, 0, () => end.promise));
        const bytes = randomBytes(2 + (round % 50) * 100);
        const half = bytes.length >> 1;
        for (let n = 0; n < round % 5; n++) await turn();
        await append(output, 0, bytes.subarray(0, half));
        for (let n = 0; n < round % 3; n++) await turn();
        await append(output, half, bytes.subarray(half));
        if (round % 2 === 0) await turn();
        end.resolve();
        expect((await reading).equals(bytes)).toBe(true);
      }
    });

    test("reads each byte once, for many readers from many offsets", async () => {
      const end = Promise.withResolvers<void>();
      const readers = Array.from({ length: 20 }, (_, n) => collect(follow(stdout, n, () => end.promise)));
      const whole = randomBytes(200_000);
      for (let at = 0; at < whole.length; at += 4096) {
        await append(stdout, at, whole.subarray(at, at + 4096));
      }
      end.resolve();
      for (const [n, bytes] of (await Promise.all(readers)).entries()) {
        expect(bytes.equals(whole.subarray(n))).toBe(true);
      }
    });
  });

  describe(`what outputs in ${name} hold`, () => {
    test("is listed by job and attempt", async () => {
      expect((await Array.fromAsync(outputs.listJobs())).flat()).toEqual([]);
      expect(await outputs.listAttempts(jobId)).toEqual([]);
      await append(stdout, 0, "a");
      await append({ ...stderr, attempt: 3 }, 0, "b");
      await append({ ...stdout, jobId: otherId }, 0, "c");
      expect((await Array.fromAsync(outputs.listJobs())).flat().sort()).toEqual([jobId, otherId]);
      expect((await outputs.listAttempts(jobId)).sort()).toEqual([1, 3]);
    });

    test("is removed with its job, all attempts and no other job", async () => {
      await append(stdout, 0, "a");
      await append({ ...stdout, attempt: 2 }, 0, "b");
      await append({ ...stdout, jobId: otherId }, 0, "c");
      await outputs.remove(jobId);
      await outputs.remove(jobId);
      expect((await Array.fromAsync(outputs.listJobs())).flat()).toEqual([otherId]);
      expect(await outputs.sizes(stdout)).toEqual({ stdout: 0, stderr: 0 });
      await expect(outputs.remove("..")).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
    });

    test("is removed by attempt, while another attempt goes on", async () => {
      for (const attempt of [1, 2, 3]) await append({ ...stdout, attempt }, 0, "x");
      await outputs.removeAttempts(jobId, [1, 2, 9]);
      expect(await outputs.listAttempts(jobId)).toEqual([3]);
      expect(await append({ ...stdout, attempt: 3 }, 1, "y")).toEqual({ size: 2 });
      await outputs.removeAttempts(jobId, [3]);
      expect((await Array.fromAsync(outputs.listJobs())).flat()).toEqual([]);
      await expect(outputs.removeAttempts(jobId, [0])).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
    });

    test("can be synced at any time, even when a hub that has died wrote it, or when nothing was written", async () => {
      await outputs.sync(jobId);
      await neighbour.append(stdout, { offset: 0, bytes: Buffer.from("left behind") });
      await neighbour.close();
      outputs.assumeUnsynced([jobId, otherId]);
      await outputs.sync(jobId);
      await outputs.sync(otherId);
      await append(stdout, 11, " and more");
      for (let round = 0; round < 10; round++) await outputs.syncOverdue(unstopped);
      await outputs.sync(jobId);
      expect(String(await read(stdout, 0, 20))).toBe("left behind and more");
    });

    test("has room, or no limit of its own", async () => {
      expect((await outputs.capacityBytes()) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(0);
    });
  });
}

function over(): Promise<void> {
  return Promise.resolve();
}

function never(): Promise<void> {
  return new Promise(() => {});
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function collect(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pieces));
}
