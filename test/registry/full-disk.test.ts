import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { rootTest } from "../sandbox/cage-stage.ts";
import { runCommand } from "../support/run-command.ts";
import { emptyDirectory } from "./registry-process.ts";

rootTest("a registry on a full disk says so in one line, and speaks of no hub", async () => {
  const disk = emptyDirectory();
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "writ-test", disk]);
  onTestFinished(() => void execFileSync("umount", [disk]));
  const register = async (name: string) => {
    const job = ["--prompt", "p", "--agent", "a", "--agent-session", "s", "--registry-dir", join(disk, name)];
    const { exitCode, stderr } = await runCommand("jobctl", ["registry", "register", ...job], {
      home: join(disk, "no-home"),
      cwd: emptyDirectory(),
    });
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/^jobctl: the disk of .* is full;[^\n]*try again[^\n]*\n$/),
    ]);
    expect(stderr).not.toContain("hub");
  };
  await register("half");
  expect(() => writeFileSync(join(disk, "rest"), Buffer.alloc(100_000))).toThrow("ENOSPC");
  await register("none");
});
