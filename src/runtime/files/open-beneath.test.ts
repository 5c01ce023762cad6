import { execFileSync, spawn } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openBase, openBeneath, pathOf } from "./open-beneath.ts";
import { PathRefused } from "./path-refused.ts";

let dir: string;
let base: FileHandle;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-beneath-"));
  mkdirSync(join(dir, "base/sub/deep"), { recursive: true });
  mkdirSync(join(dir, "outside"));
  writeFileSync(join(dir, "outside/file"), "secret");
  writeFileSync(join(dir, "base/sub/deep/file"), "content");
  base = await openBase(join(dir, "base"));
});

afterEach(async () => {
  await base.close();
  rmSync(dir, { recursive: true, force: true });
});

/** What a path gives: the content of the file, or why it is refused. */
async function outcomeOf(path: string): Promise<string> {
  try {
    const file = await openBeneath(base, path);
    try {
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof PathRefused) return error.refusal;
    throw error;
  }
}

test.each(["../outside/file", "sub/../../outside/file", "sub/..", "..", "/etc/passwd", "/", "//etc/passwd"])(
  "M-01: %s leads out",
  async (path) => expect(await outcomeOf(path)).toBe("outside"),
);

test.each(["", "a\0b", "~/x", "a\\b", "x".repeat(300), "x".repeat(4096), "a/".repeat(300), ".", "./"])(
  "M-01: a text that is no path is refused (%#)",
  async (path) => expect(await outcomeOf(path)).toBe("invalid"),
);

test("a path of almost 4096 characters is walked like any other", async () => {
  expect(await outcomeOf(`${"x".repeat(200)}/`.repeat(20))).toBe("missing");
});

test("M-01: a symbolic link is refused at each place of a path, wherever it points", async () => {
  for (const target of ["/proc/self/environ", "sub/deep/file", "nowhere", "."]) {
    symlinkSync(target, join(dir, "base/link"));
    expect(await outcomeOf("link")).toBe("link");
    unlinkSync(join(dir, "base/link"));
  }
  symlinkSync(join(dir, "outside"), join(dir, "base/first"));
  symlinkSync("deep", join(dir, "base/sub/middle"));
  symlinkSync("file", join(dir, "base/sub/deep/last"));
  for (const path of ["first/file", "sub/middle/file", "sub/deep/last"])
    expect(await outcomeOf(path)).toBe("link");
});

test("M-01: pipes, sockets, devices and directories are not files, and nothing waits for them", async () => {
  execFileSync("mkfifo", [join(dir, "base/fifo")]);
  const server = createServer().listen(join(dir, "base/socket"));
  await new Promise((resolve) => server.once("listening", resolve));
  for (const path of ["fifo", "socket", "sub"]) expect(await outcomeOf(path)).toBe("other-kind");
  server.close();
  const dev = await openBase("/dev");
  await expect(openBeneath(dev, "null")).rejects.toMatchObject({ refusal: "other-kind" });
  await dev.close();
});

test("M-01: a file with a second name is refused", async () => {
  linkSync(join(dir, "outside/file"), join(dir, "base/hard"));
  expect(await outcomeOf("hard")).toBe("link");
});

test("a file beneath is read, however its path is written, and what is missing is called missing", async () => {
  for (const path of ["sub/deep/file", "./sub//deep/./file"]) expect(await outcomeOf(path)).toBe("content");
  for (const path of ["sub/none", "none/file"]) expect(await outcomeOf(path)).toBe("missing");
  expect(await outcomeOf("sub/deep/file/x")).toBe("other-kind");
});

test("a directory beneath is opened as the base of more", async () => {
  const sub = await openBeneath(base, "sub", "directory");
  expect(readdirSync(pathOf(sub))).toEqual(["deep"]);
  await expect(openBeneath(base, "sub/deep/file", "directory")).rejects.toThrow("is not a directory");
  await sub.close();
});

test("a base that is a link is refused", async () => {
  symlinkSync("base", join(dir, "to-base"));
  await expect(openBase(join(dir, "to-base"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test("M-01, P-05: while another process swaps a directory and a link, no file outside is ever opened", async () => {
  // The directory and the link take turns at base/turn; each of the two leads to a file of the same name.
  mkdirSync(join(dir, "base/real"));
  writeFileSync(join(dir, "base/real/file"), "content");
  symlinkSync(join(dir, "outside"), join(dir, "base/fake"));
  const swap = `
    const { renameSync } = require("node:fs");
    process.chdir(${JSON.stringify(join(dir, "base"))});
    for (;;) for (const name of ["real", "fake"]) { renameSync(name, "turn"); renameSync("turn", name); }`;
  const swapper = spawn(process.execPath, ["-e", swap], { stdio: "ignore" });
  try {
    const seen: Record<string, number> = {};
    const isEnough = () => ["content", "link"].every((outcome) => (seen[outcome] ?? 0) >= 20);
    for (let tries = 0; tries < 1_000_000 && !isEnough(); tries++) {
      const outcome = await outcomeOf("turn/file");
      seen[outcome] = (seen[outcome] ?? 0) + 1;
    }
    expect(isEnough()).toBe(true);
    const harmless = ["content", "link", "missing"];
    expect(Object.keys(seen).filter((outcome) => !harmless.includes(outcome))).toEqual([]);
  } finally {
    swapper.kill("SIGKILL");
  }
});

test("no descriptor is left open, whatever was refused", async () => {
  const openNow = () => readdirSync("/proc/self/fd").length;
  symlinkSync("sub", join(dir, "base/link"));
  const before = openNow();
  for (const path of ["sub/deep/file", "link/deep/file", "sub/none", "../x", "sub"]) await outcomeOf(path);
  expect(openNow()).toBe(before);
});
