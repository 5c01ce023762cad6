import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { findTree, killProcessTree, signalProcessGroup } from "./process-tree.ts";

test("processes that have become another user's are left, and the others end", async () => {
  const shell = spawn("sh", ["-c", "sleep 1000 & sleep 1000 & echo; wait; exec sleep 1000"], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const pid = shell.pid!;
  await once(shell.stdout, "data");
  const kill = process.kill.bind(process);
  const refusing = vi.spyOn(process, "kill").mockImplementation((target, signal) => {
    if (target === pid || target === -pid) throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
    return kill(target, signal);
  });
  try {
    expect(await killProcessTree(pid)).toBe(false);
    // A killed process may still exist for a moment.
    await expect.poll(() => findTree(pid)).toEqual([pid]);
    expect(() => signalProcessGroup(pid, "SIGTERM")).not.toThrow();
  } finally {
    refusing.mockRestore();
  }
  expect(await killProcessTree(pid)).toBe(true);
  await expect.poll(() => findTree(pid)).toEqual([]);
});
