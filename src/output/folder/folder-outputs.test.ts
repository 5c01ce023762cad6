import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { OutputName, Outputs } from "../outputs.ts";
import { FolderOutputs } from "./folder-outputs.ts";
import { outputPath } from "./output-path.ts";

const aJobId = "0198c0de-0000-7000-8000-abcdef012345";
const stdout: OutputName = { jobId: aJobId, attempt: 1, stream: "stdout" };
let root: string;
let outputs: FolderOutputs;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "writ-output-"));
  outputs = new FolderOutputs(root);
});
afterEach(async () => {
  await outputs.close();
  rmSync(root, { recursive: true, force: true });
});

describe("outputPath", () => {
  test.each([
    ["../../etc/passwd", 1, "stdout"],
    [`${aJobId}/..`, 1, "stdout"],
    [`${aJobId}\n`, 1, "stdout"],
    [aJobId.toUpperCase(), 1, "stdout"],
    ["", 1, "stdout"],
    [aJobId, 0, "stdout"],
    [aJobId, -1, "stdout"],
    [aJobId, 1.5, "stdout"],
    [aJobId, Number.NaN, "stdout"],
    [aJobId, 1, "../stdout"],
    [aJobId, 1, "__proto__"],
  ])("refuses %j, attempt %j, stream %j", (jobId, attempt, stream) => {
    expect(() => outputPath(root, jobId, attempt, stream as "stdout")).toThrow(
      expect.objectContaining({ code: "OUTPUT_UNAVAILABLE" }),
    );
  });

  test("spreads jobs by the random end of their id", () => {
    expect(outputPath("/o", aJobId, 2, "stderr")).toBe(`/o/ab/${aJobId}/2/stderr.log`);
  });
});

describe("FolderOutputs", () => {
  test("refuses to follow a link that lies in the place of an output", async () => {
    await append({ ...stdout, stream: "stderr" }, 0, "x");
    execFileSync("ln", ["-s", "/etc/hostname", pathOf(stdout)]);
    await expect(append(stdout, 0, "x")).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
  });

  test("refuses more appends at once than a sender can mean", async () => {
    const results = await Promise.allSettled(Array.from({ length: 100 }, () => append(stdout, 0, "x")));
    const codes = results.map((result) => (result.status === "rejected" ? result.reason.code : "ok"));
    expect(codes.filter((code) => code === "ok")).toHaveLength(1);
    expect(codes.filter((code) => code === "OUTPUT_UNAVAILABLE")).toHaveLength(36);
    expect((await outputs.sizes(stdout)).stdout).toBe(1);
  });

  test("keeps random chunks byte for byte, private, and survives being closed in between", async () => {
    const chunks = Array.from({ length: 60 }, (_, n) => randomBytes((n * 7919) % 70_000));
    let offset = 0;
    for (const [n, bytes] of chunks.entries()) {
      offset = (await append(stdout, offset, bytes)).size;
      if (n % 20 === 19) await outputs.close();
    }
    const whole = Buffer.concat(chunks);
    expect((await outputs.sizes(stdout)).stdout).toBe(whole.length);
    expect(sha256(readFileSync(pathOf(stdout)))).toBe(sha256(whole));
    expect(statSync(pathOf(stdout)).mode & 0o777).toBe(0o600);
  });

  test("lets exactly one of many equal offsets win, at any number of files and few descriptors", async () => {
    const small = new FolderOutputs(root, { openFilesMax: 4 });
    const before = openDescriptors();
    const names = Array.from({ length: 30 }, (_, n) => ({ ...stdout, attempt: n + 1 }));
    let highest = 0;
    for (let round = 0; round < 5; round++) {
      const appends = names.flatMap((output) =>
        ["a", "b", "c"].map(async (letter) => {
          const outcome = await append(output, round * 1000, letter.repeat(1000), small).then(
            () => 1,
            () => 0,
          );
          highest = Math.max(highest, openDescriptors() - before);
          return outcome;
        }),
      );
      const won: number = (await Promise.all(appends)).reduce<number>((sum, one) => sum + one, 0);
      expect(won).toBe(names.length);
    }
    for (const output of names)
      expect(readFileSync(pathOf(output), "latin1")).toMatch(/^(?:a{1000}|b{1000}|c{1000}){5}$/);
    expect(highest).toBeLessThanOrEqual(4 + 1);
    await small.close();
    expect(openDescriptors()).toBe(before);
  });

  test("F-05: a failure in the middle of an append leaves the bytes before it and nothing else", async () => {
    let isBroken = true;
    const faulty = new FolderOutputs(root, {
      failpoint: (name) => {
        if (isBroken && name === "log.midWrite")
          throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      },
    });
    const large = randomBytes(3 * 1024 * 1024);
    await append(stdout, 0, "head", faulty);
    await expect(append(stdout, 4, large, faulty)).rejects.toMatchObject({
      code: "OUTPUT_UNAVAILABLE",
      details: { reason: "ENOSPC" },
    });
    expect(readFileSync(pathOf(stdout), "utf8")).toBe("head");
    isBroken = false;
    expect(await append(stdout, 4, large, faulty)).toEqual({ size: 4 + large.length });
    expect(sha256(readFileSync(pathOf(stdout)).subarray(4))).toBe(sha256(large));
    await faulty.close();
  });

  test("removes a job with its folder, and lets go of the descriptors", async () => {
    const before = openDescriptors();
    const other = aJobId.replace("012345", "012346");
    for (const attempt of [1, 2]) await append({ ...stdout, attempt }, 0, "x");
    await append({ ...stdout, jobId: other }, 0, "y");
    await outputs.sync(other);
    await outputs.remove(aJobId);
    expect(readdirSync(join(root, "ab"))).toEqual([other]);
    expect(openDescriptors()).toBe(before + 1);
  });

  test("removes the folders of attempts, and that of the job with the last of them", async () => {
    for (const attempt of [1, 2, 3]) await append({ ...stdout, attempt }, 0, "x");
    await outputs.removeAttempts(aJobId, [1, 2, 9]);
    expect(readdirSync(join(root, "ab", aJobId))).toEqual(["3"]);
    await outputs.removeAttempts(aJobId, [3]);
    expect(readdirSync(join(root, "ab"))).toEqual([]);
  });
});

describe("syncing", () => {
  let seen: string[];
  let failure: Error | undefined;
  let onSyncDir: (() => Promise<unknown>) | undefined;
  let watched: FolderOutputs;

  beforeEach(() => {
    seen = [];
    failure = undefined;
    onSyncDir = undefined;
    watched = new FolderOutputs(root, {
      failpoint: async (name) => {
        seen.push(name);
        if (failure !== undefined && name.startsWith("log.sync")) throw failure;
        if (name === "log.syncDir") await onSyncDir?.();
      },
    });
  });
  afterEach(() => watched.close());

  const write = (attempt: number, stream: "stdout" | "stderr", offset: number, text: string) =>
    append({ jobId: aJobId, attempt, stream }, offset, text, watched);
  const syncs = async () => {
    await watched.sync(aJobId);
    return seen.splice(0).sort();
  };

  test("that fails is reported with its reason, and does not count as done", async () => {
    await write(1, "stdout", 0, "a");
    failure = Object.assign(new Error("broken"), { code: "EIO" });
    for (let time = 0; time < 2; time++) {
      await expect(watched.sync(aJobId)).rejects.toMatchObject({
        code: "OUTPUT_UNAVAILABLE",
        details: { reason: "EIO" },
      });
    }
    failure = undefined;
    seen.splice(0);
    expect(await syncs()).toContain("log.sync");
    expect(await syncs()).toEqual([]);
  });

  test("costs nothing for a job that has written nothing, or nothing new", async () => {
    expect(await syncs()).toEqual([]);
    await write(1, "stdout", 0, "");
    await syncs();
    expect(await syncs()).toEqual([]);
  });

  test("covers both streams, and the folders when they are new", async () => {
    const dirs = (count: number) => Array<string>(count).fill("log.syncDir");
    await write(1, "stdout", 0, "a");
    await write(1, "stderr", 0, "b");
    // The attempt, the job, the folder of jobs, and the root, in which that one is new.
    expect(await syncs()).toEqual(["log.sync", "log.sync", ...dirs(4)]);
    await write(1, "stdout", 1, "c");
    expect(await syncs()).toEqual(["log.sync"]);
    await write(2, "stdout", 0, "d");
    expect(await syncs()).toEqual(["log.sync", ...dirs(2)]);
    await write(2, "stderr", 0, "e");
    expect(await syncs()).toEqual(["log.sync", ...dirs(1)]);
  });

  test("covers a file that is made while the folder is being synced for another", async () => {
    await write(1, "stdout", 0, "a");
    onSyncDir = async () => {
      onSyncDir = undefined;
      await write(1, "stderr", 0, "b");
    };
    await syncs();
    expect(await syncs()).toEqual(["log.sync", "log.syncDir"]);
    expect(await syncs()).toEqual([]);
  });

  test("looks at the files of a job that another hub may have written", async () => {
    await append({ jobId: aJobId, attempt: 3, stream: "stderr" }, 0, "before");
    expect(await syncs()).toEqual([]);
    watched.assumeUnsynced([aJobId]);
    expect(await syncs()).toEqual(["log.sync", ...Array<string>(4).fill("log.syncDir")]);
    expect(await syncs()).toEqual([]);
    watched.assumeUnsynced([aJobId.replace("012345", "012346")]);
    await watched.sync(aJobId.replace("012345", "012346"));
  });

  test("of a long output begins on the way", async () => {
    const chunk = Buffer.alloc(8 * 1024 * 1024);
    for (let n = 0; n < 3; n++) await append(stdout, n * chunk.length, chunk, watched);
    expect(seen).not.toContain("log.sync");
    await append(stdout, 3 * chunk.length, chunk, watched);
    // In its turn: whatever is asked next of the file comes after it.
    await append(stdout, 4 * chunk.length, "x", watched);
    expect(seen.filter((name) => name === "log.sync")).toHaveLength(1);
  });

  test("comes by itself, after some rounds, for output that no call asks for", async () => {
    const { signal } = new AbortController();
    await write(1, "stdout", 0, "a");
    for (let round = 0; round < 5; round++) await watched.syncOverdue(signal);
    expect(seen).toEqual([]);
    await watched.syncOverdue(signal);
    expect(seen).toContain("log.sync");
    seen.splice(0);
    for (let round = 0; round < 10; round++) await watched.syncOverdue(signal);
    expect(await syncs()).toEqual([]);
  });

  test("of what was removed is not tried", async () => {
    await write(1, "stdout", 0, "a");
    await write(2, "stdout", 0, "b");
    await watched.removeAttempts(aJobId, [1]);
    expect((await syncs()).filter((name) => name === "log.sync")).toHaveLength(1);
    await write(2, "stdout", 1, "c");
    await watched.remove(aJobId);
    expect(await syncs()).toEqual([]);
    expect(readdirSync(join(root, "ab"))).toEqual([]);
  });
});

function pathOf({ jobId, attempt, stream }: OutputName): string {
  return outputPath(root, jobId, attempt, stream);
}

function append(
  output: OutputName,
  offset: number,
  bytes: string | Uint8Array,
  through: Outputs = outputs,
): Promise<{ size: number }> {
  return through.append(output, { offset, bytes: Buffer.from(bytes) });
}

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
