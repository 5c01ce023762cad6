import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { runCommand } from "../support/run-command.ts";

const obstacle = mountObstacle();
const name = "A18: on a full disk a rotation and a start say so, and leave nothing behind";

if (obstacle === null) test(name, fillHome);
else test.skip(`${name} (not capable: ${obstacle})`, fillHome);

async function fillHome(): Promise<void> {
  const disk = mkdtempSync(join(tmpdir(), "writ-full-home-"));
  const home = join(disk, "home");
  const keys = join(home, "keys");
  mount(disk, "size=48m,mode=0700");
  onTestFinished(() => {
    execFileSync("umount", ["-l", disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  mkdirSync(home, { mode: 0o700 });
  const hub = await startTestHub(stillEnv, { home });
  const before = readdirSync(keys);

  fill(join(disk, "fill"));
  const rotation = () => hub.call("POST", "/keys/rotate", { token: hub.admin, body: {} });
  expect(await rotation()).toMatchObject({
    status: 503,
    code: "STORE_UNAVAILABLE",
    text: expect.stringContaining("the disk is full"),
  });
  expect(readdirSync(keys).sort()).toEqual(before.sort());
  rmSync(join(disk, "fill"));
  expect((await rotation()).status).toBe(200);
  await hub.stop({ keepHome: true });

  fill(join(disk, "fill"));
  for (const where of [home, join(disk, "new")]) {
    const started = await runCommand("writ", ["hub", "--port", "0", "--grpc-port", "0"], { home: where });
    expect(started).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("disk") });
    expect(started.stderr).toMatch(/full/);
    expect(started.stderr).not.toMatch(/already running|ENOSPC:/);
  }
  const left = readdirSync(disk, { recursive: true, encoding: "utf8" });
  expect(left.filter((path) => /\.tmp$/.test(path))).toEqual([]);
}

/** To the last byte: first in large pieces, then in small ones. */
function fill(path: string): void {
  const file = openSync(path, "w");
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size));
    } catch {
      // Full for this size.
    }
  }
  closeSync(file);
}

function mount(dir: string, options: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "writ-test", dir], { stdio: "pipe" });
}

/** A small disk of one's own takes root, and a container may forbid it even then. */
function mountObstacle(): string | null {
  const dir = mkdtempSync(join(tmpdir(), "writ-full-home-"));
  try {
    mount(dir, "size=1m");
    execFileSync("umount", [dir]);
    return null;
  } catch {
    return "no tmpfs can be mounted";
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
