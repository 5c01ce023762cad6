import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { followFile } from "./follow-file.ts";

let root: string;
let path: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "writ-follow-"));
  path = join(root, "ab", "job", "1", "stdout.log");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("followFile", () => {
  test("throws the reason when it is aborted while it waits, and leaves no descriptor behind", async () => {
    await collect(followFile({ path, offset: 0, ended: () => Promise.resolve() }));
    const before = descriptors();
    const stop = new AbortController();
    const reading = collect(followFile({ path, offset: 0, ended: never, signal: stop.signal }));
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    expect(descriptors()).toBe(before);
  });

  test("fails when the output is removed before its end", async () => {
    write("abc");
    const follower = followFile({ path, offset: 0, ended: never });
    expect((await follower.next()).value?.toString()).toBe("abc");
    const next = follower.next();
    unlinkSync(path);
    await expect(next).rejects.toMatchObject({ code: "OUTPUT_UNAVAILABLE" });
  });

  test("passes on a failure of the end itself", async () => {
    write("abc");
    const ended = (): Promise<void> => Promise.reject(new Error("store gone"));
    await expect(collect(followFile({ path, offset: 0, ended }))).rejects.toThrow("store gone");
  });

  test("yields nothing for an offset at or beyond the end, and nothing when there never was a file", async () => {
    const ended = (): Promise<void> => Promise.resolve();
    expect(await collect(followFile({ path, offset: 0, ended }))).toHaveLength(0);
    write("abc");
    expect(await collect(followFile({ path, offset: 3, ended }))).toHaveLength(0);
    expect(await collect(followFile({ path, offset: 9, ended }))).toHaveLength(0);
    expect((await collect(followFile({ path, offset: 1, ended }))).toString()).toBe("bc");
  });

  test("reads in chunks of the size that was asked for", async () => {
    write("0123456789");
    const chunks = await Array.fromAsync(
      followFile({ path, offset: 1, chunkBytes: 4, ended: AbortSignal.abort() }),
    );
    expect(chunks.map(String)).toEqual(["1234", "5678", "9"]);
  });

  test("waits for a file whose directories are not there yet, one after the other", async () => {
    const over = new AbortController();
    const reading = collect(followFile({ path, offset: 0, ended: over.signal }));
    for (const dir of [join(root, "ab"), join(root, "ab", "job"), dirname(path)]) {
      mkdirSync(dir);
      await turn();
    }
    appendFileSync(path, "first ");
    await turn();
    appendFileSync(path, "second");
    over.abort();
    expect((await reading).toString()).toBe("first second");
  });

  test("notices a directory that is removed and made again", async () => {
    mkdirSync(dirname(path), { recursive: true });
    const follower = followFile({ path, offset: 0, ended: never });
    const first = follower.next();
    await turn();
    rmSync(join(root, "ab"), { recursive: true });
    await turn();
    write("back");
    expect((await first).value?.toString()).toBe("back");
    await follower.return(undefined);
  });

  test("reads each byte once from a writer in another process, for 50 readers at once", async () => {
    await collect(followFile({ path, offset: 0, ended: () => Promise.resolve() }));
    const before = descriptors();
    const writer = startWriter(2000);
    const exited = exitOf(writer);
    const ended = (): Promise<void> => exited;
    const readers = Array.from({ length: 50 }, (_, n) =>
      collect(followFile({ path, offset: n, chunkBytes: 1000 + n * 997, ended })),
    );
    const outputs = await Promise.all(readers);
    const whole = readFileSync(path);
    expect(whole.length).toBeGreaterThan(1_000_000);
    for (const [n, output] of outputs.entries()) expect(sha256(output)).toBe(sha256(whole.subarray(n)));
    expect(descriptors()).toBeLessThanOrEqual(before);
  });

  test("never loses the last bytes, nor hangs, however writes and end fall together, 200 times", async () => {
    await collect(followFile({ path, offset: 0, ended: () => Promise.resolve() }));
    const before = descriptors();
    for (let round = 0; round < 200; round++) {
      const file = join(root, `round-${round}`, "stdout.log");
      const over = Promise.withResolvers<void>();
      const reading = collect(followFile({ path: file, offset: 0, ended: () => over.promise }));
      const bytes = randomBytes(1 + (round % 50) * 100);
      // Some turns of the loop apart, different in each round, so that every order comes up.
      for (let n = 0; n < round % 5; n++) await turn();
      mkdirSync(dirname(file));
      for (let n = 0; n < round % 3; n++) await turn();
      writeFileSync(file, bytes.subarray(0, bytes.length >> 1));
      for (let n = 0; n < round % 4; n++) await turn();
      appendFileSync(file, bytes.subarray(bytes.length >> 1));
      if (round % 2 === 0) await turn();
      over.resolve();
      expect(sha256(await reading)).toBe(sha256(bytes));
    }
    expect(descriptors()).toBe(before);
  });

  test("never loses the end of a short-lived writer in another process", async () => {
    for (let round = 0; round < 20; round++) {
      const file = join(root, `short-${round}`, "stdout.log");
      const writer = spawn("/bin/sh", [
        "-c",
        'mkdir -p "$0" && printf abc > "$1" && printf def >> "$1"',
        dirname(file),
        file,
      ]);
      const output = await collect(followFile({ path: file, offset: 0, ended: () => exitOf(writer) }));
      expect(output.toString()).toBe("abcdef");
    }
  });

  test("B17: takes no memory for a stream before a byte exists, and then no more than there is", async () => {
    const alloc = vi.spyOn(Buffer, "allocUnsafe");
    onTestFinished(() => alloc.mockRestore());
    const over = new AbortController();
    const reading = collect(followFile({ path, offset: 0, reusesBuffer: true, ended: over.signal }));
    await turn();
    write("");
    await turn();
    expect(alloc).not.toHaveBeenCalled();
    write("abc");
    over.abort();
    expect((await reading).toString()).toBe("abc");
    expect(alloc.mock.calls.every(([bytes]) => bytes <= 3)).toBe(true);
  });

  test("reads all pieces into one buffer when asked to", async () => {
    const whole = randomBytes(300_000);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, whole);
    const options = { path, offset: 0, chunkBytes: 65_536, reusesBuffer: true, ended: AbortSignal.abort() };
    const buffers = new Set<ArrayBufferLike>();
    const pieces: Buffer[] = [];
    for await (const chunk of followFile(options)) {
      buffers.add(chunk.buffer);
      pieces.push(Buffer.from(chunk));
    }
    expect(sha256(Buffer.concat(pieces))).toBe(sha256(whole));
    expect(buffers.size).toBe(1);
  });

  test("ends at the size that the output had when its end was seen", async () => {
    write("x".repeat(1000));
    const follower = followFile({ path, offset: 0, chunkBytes: 100, ended: AbortSignal.abort() });
    await follower.next();
    write("too late");
    expect((await collect(follower)).length).toBe(900);
  });
});

function write(text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, text);
}

function never(): Promise<void> {
  return new Promise(() => {});
}

async function collect(follower: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(follower));
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function startWriter(writes: number): ChildProcess {
  const script = `
    const { mkdirSync, openSync, writeSync } = require("node:fs");
    const { randomBytes } = require("node:crypto");
    const { dirname } = require("node:path");
    mkdirSync(dirname(${JSON.stringify(path)}), { recursive: true });
    const fd = openSync(${JSON.stringify(path)}, "a");
    for (let n = 0; n < ${writes}; n++) writeSync(fd, randomBytes(1 + (n * 37) % 2000));`;
  return spawn(process.execPath, ["-e", script], { stdio: ["ignore", "inherit", "inherit"] });
}

/** Asked for before the child can have ended, because an exit is emitted only once. */
function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("exit", () => resolve()));
}

function descriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
