import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OutputLog, outputPath, sizeOf } from "./output-log.ts";
import { readRange } from "./read-range.ts";

const JOB = "0198c0de-0000-7000-8000-abcdef012345";
let root: string;
let log: OutputLog;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "writ-output-"));
  log = new OutputLog();
});
afterEach(async () => {
  await log.close();
  rmSync(root, { recursive: true, force: true });
});

describe("outputPath", () => {
  test.each([
    ["../../etc/passwd", 1, "stdout"],
    [`${JOB}/..`, 1, "stdout"],
    [`${JOB}\n`, 1, "stdout"],
    [JOB.toUpperCase(), 1, "stdout"],
    ["", 1, "stdout"],
    [JOB, 0, "stdout"],
    [JOB, -1, "stdout"],
    [JOB, 1.5, "stdout"],
    [JOB, Number.NaN, "stdout"],
    [JOB, 1, "../stdout"],
    [JOB, 1, "__proto__"],
  ])("refuses %j, attempt %j, stream %j", (jobId, attempt, stream) => {
    expect(() => outputPath(root, jobId, attempt, stream as "stdout")).toThrow(
      expect.objectContaining({ code: "OUTPUT_UNAVAILABLE" }),
    );
  });

  test("spreads jobs by the random end of their id", () => {
    expect(outputPath("/o", JOB, 2, "stderr")).toBe(`/o/ab/${JOB}/2/stderr.log`);
  });
});

describe("OutputLog", () => {
  test("refuses an offset that is not the size, says the size and changes nothing", async () => {
    const path = outputPath(root, JOB, 1, "stdout");
    await log.appendAt(path, 0, Buffer.from("hello"));
    for (const offset of [0, 4, 6, -1, Number.NaN]) {
      await expect(log.appendAt(path, offset, Buffer.from("x"))).rejects.toMatchObject({
        code: "OUTPUT_OFFSET",
        details: { size: 5 },
      });
    }
    expect(readFileSync(path, "utf8")).toBe("hello");
  });

  test("refuses to follow a link that lies in the place of an output", async () => {
    const path = outputPath(root, JOB, 1, "stdout");
    await log.appendAt(outputPath(root, JOB, 1, "stderr"), 0, Buffer.from("x"));
    execFileSync("ln", ["-s", "/etc/hostname", path]);
    await expect(log.appendAt(path, 0, Buffer.from("x"))).rejects.toMatchObject({
      code: "OUTPUT_UNAVAILABLE",
    });
  });

  test("refuses more appends at once than a sender can mean", async () => {
    const path = outputPath(root, JOB, 1, "stdout");
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, () => log.appendAt(path, 0, Buffer.from("x"))),
    );
    const codes = results.map((result) => (result.status === "rejected" ? result.reason.code : "ok"));
    expect(codes.filter((code) => code === "ok")).toHaveLength(1);
    expect(codes.filter((code) => code === "OUTPUT_UNAVAILABLE")).toHaveLength(36);
    expect(await sizeOf(path)).toBe(1);
  });

  test("keeps random chunks byte for byte, private, and survives being closed in between", async () => {
    const path = outputPath(root, JOB, 1, "stdout");
    const chunks = Array.from({ length: 60 }, (_, n) => randomBytes((n * 7919) % 70_000));
    let offset = 0;
    for (const [n, chunk] of chunks.entries()) {
      offset = (await log.appendAt(path, offset, chunk)).size;
      if (n % 20 === 19) await log.close();
    }
    const whole = Buffer.concat(chunks);
    expect(await log.sizeOf(path)).toBe(whole.length);
    expect(sha256(readFileSync(path))).toBe(sha256(whole));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const range = await Array.fromAsync(readRange(path, 1000, whole.length - 1000, 4096));
    expect(sha256(Buffer.concat(range))).toBe(sha256(whole.subarray(1000, -1000)));
  });

  test("lets exactly one of many equal offsets win, at any number of files and few descriptors", async () => {
    const small = new OutputLog({ openFilesMax: 4 });
    const before = openDescriptors();
    const paths = Array.from({ length: 30 }, (_, n) => outputPath(root, JOB, n + 1, "stdout"));
    let highest = 0;
    for (let round = 0; round < 5; round++) {
      const appends = paths.flatMap((path) =>
        ["a", "b", "c"].map(async (letter) => {
          const outcome = await small.appendAt(path, round * 1000, Buffer.from(letter.repeat(1000))).then(
            () => 1,
            () => 0,
          );
          highest = Math.max(highest, openDescriptors() - before);
          return outcome;
        }),
      );
      const won: number = (await Promise.all(appends)).reduce<number>((sum, one) => sum + one, 0);
      expect(won).toBe(paths.length);
    }
    for (const path of paths)
      expect(readFileSync(path, "latin1")).toMatch(/^(?:a{1000}|b{1000}|c{1000}){5}$/);
    expect(highest).toBeLessThanOrEqual(4 + 1);
    await small.close();
    expect(openDescriptors()).toBe(before);
  });

  test("F-05: a failure in the middle of an append leaves the bytes before it and nothing else", async () => {
    let isBroken = true;
    const faulty = new OutputLog({
      failpoint: (name) => {
        if (isBroken && name === "log.midWrite")
          throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      },
    });
    const path = outputPath(root, JOB, 1, "stdout");
    const large = randomBytes(3 * 1024 * 1024);
    await faulty.appendAt(path, 0, Buffer.from("head"));
    await expect(faulty.appendAt(path, 4, large)).rejects.toMatchObject({
      code: "OUTPUT_UNAVAILABLE",
      details: { reason: "ENOSPC" },
    });
    expect(readFileSync(path, "utf8")).toBe("head");
    isBroken = false;
    expect(await faulty.appendAt(path, 4, large)).toEqual({ size: 4 + large.length });
    expect(sha256(readFileSync(path).subarray(4))).toBe(sha256(large));
    await faulty.close();
  });

  test("forgets a job with all its attempts and no other, and lets go of the descriptors", async () => {
    const before = openDescriptors();
    const other = JOB.replace("012345", "012346");
    for (const attempt of [1, 2])
      await log.appendAt(outputPath(root, JOB, attempt, "stdout"), 0, Buffer.from("x"));
    await log.appendAt(outputPath(root, other, 1, "stdout"), 0, Buffer.from("y"));
    await log.syncJob(root, other);
    await log.removeOutputs(root, JOB);
    expect(readdirSync(join(root, "ab"))).toEqual([other]);
    expect(openDescriptors()).toBe(before + 1);
    expect(await log.sizeOf(outputPath(root, JOB, 1, "stdout"))).toBe(0);
    await expect(log.removeOutputs(root, "..")).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
  });

  test("forgets the attempts that are named, while another one goes on", async () => {
    for (const attempt of [1, 2, 3])
      await log.appendAt(outputPath(root, JOB, attempt, "stdout"), 0, Buffer.from("x"));
    await log.removeAttempts(root, JOB, [1, 2, 9]);
    expect(readdirSync(join(root, "ab", JOB))).toEqual(["3"]);
    expect(await log.appendAt(outputPath(root, JOB, 3, "stdout"), 1, Buffer.from("y"))).toEqual({ size: 2 });
    await log.removeAttempts(root, JOB, [3]);
    expect(readdirSync(join(root, "ab"))).toEqual([]);
    await expect(log.removeAttempts(root, JOB, [0])).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
  });
});

describe("syncing", () => {
  let seen: string[];
  let failure: Error | undefined;
  let watched: OutputLog;

  beforeEach(() => {
    seen = [];
    failure = undefined;
    watched = new OutputLog({
      failpoint: (name) => {
        seen.push(name);
        if (failure !== undefined && name.startsWith("log.sync")) throw failure;
      },
    });
  });
  afterEach(() => watched.close());

  const say = (attempt: number, stream: "stdout" | "stderr", offset: number, text: string) =>
    watched.appendAt(outputPath(root, JOB, attempt, stream), offset, Buffer.from(text));
  const syncs = async () => {
    await watched.syncJob(root, JOB);
    return seen.splice(0).sort();
  };

  test("that fails is told with its reason, and is not believed to be done", async () => {
    await say(1, "stdout", 0, "a");
    failure = Object.assign(new Error("broken"), { code: "EIO" });
    for (let time = 0; time < 2; time++) {
      await expect(watched.syncJob(root, JOB)).rejects.toMatchObject({
        code: "OUTPUT_UNAVAILABLE",
        details: { reason: "EIO" },
      });
    }
    failure = undefined;
    seen.splice(0);
    expect(await syncs()).toContain("log.sync");
    expect(await syncs()).toEqual([]);
  });

  test("costs nothing for a job that has said nothing, or nothing new", async () => {
    expect(await syncs()).toEqual([]);
    await say(1, "stdout", 0, "");
    await syncs();
    expect(await syncs()).toEqual([]);
  });

  test("covers both streams, and the folders when they are new", async () => {
    const dirs = (count: number) => Array<string>(count).fill("log.syncDir");
    await say(1, "stdout", 0, "a");
    await say(1, "stderr", 0, "b");
    // The attempt, the job, the folder of jobs, and the root, in which that one is new.
    expect(await syncs()).toEqual(["log.sync", "log.sync", ...dirs(4)]);
    await say(1, "stdout", 1, "c");
    expect(await syncs()).toEqual(["log.sync"]);
    await say(2, "stdout", 0, "d");
    expect(await syncs()).toEqual(["log.sync", ...dirs(2)]);
    await say(2, "stderr", 0, "e");
    expect(await syncs()).toEqual(["log.sync", ...dirs(1)]);
  });

  test("looks at the files of a job that another hub may have written", async () => {
    await log.appendAt(outputPath(root, JOB, 3, "stderr"), 0, Buffer.from("before"));
    expect(await syncs()).toEqual([]);
    watched.doubt(root, JOB);
    expect(await syncs()).toEqual(["log.sync", ...Array<string>(4).fill("log.syncDir")]);
    expect(await syncs()).toEqual([]);
    watched.doubt(root, JOB.replace("012345", "012346"));
    await watched.syncJob(root, JOB.replace("012345", "012346"));
  });

  test("of a long output begins on the way", async () => {
    const chunk = Buffer.alloc(8 * 1024 * 1024);
    const path = outputPath(root, JOB, 1, "stdout");
    for (let n = 0; n < 3; n++) await watched.appendAt(path, n * chunk.length, chunk);
    expect(seen).not.toContain("log.sync");
    await watched.appendAt(path, 3 * chunk.length, chunk);
    // In its turn: whatever is asked next of the file comes after it.
    await watched.appendAt(path, 4 * chunk.length, Buffer.from("x"));
    expect(seen.filter((name) => name === "log.sync")).toHaveLength(1);
  });

  test("comes by itself, after some rounds, for what nobody asks about", async () => {
    const { signal } = new AbortController();
    await say(1, "stdout", 0, "a");
    for (let round = 0; round < 5; round++) await watched.syncOld(signal);
    expect(seen).toEqual([]);
    await watched.syncOld(signal);
    expect(seen).toContain("log.sync");
    seen.splice(0);
    for (let round = 0; round < 10; round++) await watched.syncOld(signal);
    expect(await syncs()).toEqual([]);
  });

  test("of what was removed is not tried", async () => {
    await say(1, "stdout", 0, "a");
    await say(2, "stdout", 0, "b");
    await watched.removeAttempts(root, JOB, [1]);
    expect((await syncs()).filter((name) => name === "log.sync")).toHaveLength(1);
    await say(2, "stdout", 1, "c");
    await watched.removeOutputs(root, JOB);
    expect(await syncs()).toEqual([]);
    expect(readdirSync(join(root, "ab"))).toEqual([]);
  });
});

describe("readRange", () => {
  test("fails when fewer bytes are there than were promised", async () => {
    const path = outputPath(root, JOB, 1, "stdout");
    await log.appendAt(path, 0, Buffer.from("12345"));
    await expect(Array.fromAsync(readRange(path, 0, 6))).rejects.toMatchObject({
      code: "OUTPUT_UNAVAILABLE",
    });
    await expect(Array.fromAsync(readRange(`${path}.not`, 0, 6))).rejects.toMatchObject({
      code: "OUTPUT_UNAVAILABLE",
    });
  });
});

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
