import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { resolveLimits } from "../core/limits.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { plainSandbox } from "./plain/plain-sandbox.ts";
import type { RunningProcess } from "./sandbox.ts";
import { createTerminator } from "./terminate.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-terminate-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Starts a script and returns when it has printed that it is ready. */
async function startScript(script: string): Promise<RunningProcess> {
  const running = await plainSandbox.start({
    jobId: "j",
    attempt: 1,
    argv: ["sh", "-c", script],
    env: { PATH: "/usr/bin:/bin" },
    cwd: dir,
    stdoutFile: join(dir, "out"),
    stderrFile: join(dir, "err"),
    outputBytesMax: 1024 ** 2,
    limits: resolveLimits({}),
    asked: [],
    workDir: dir,
  });
  while (!said().includes("ready")) await new Promise((resolve) => setImmediate(resolve));
  return running;
}

function said(): string {
  return readFileSync(join(dir, "out"), "utf8");
}

test("a process that ignores SIGTERM is killed after the grace", async () => {
  const running = await startScript("trap '' TERM; echo ready; while :; do sleep 0.02; done");
  await createTerminator(running, systemClock).stop("cancelled", { graceMs: 50 });
  expect(await running.exited).toMatchObject({ signal: "SIGKILL", exitCode: null });
});

test("a child that ignores SIGTERM does not outlive its parent", async () => {
  const running = await startScript(
    "sh -c 'trap \"\" TERM; while :; do sleep 0.02; done' & trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done",
  );
  await createTerminator(running, systemClock).stop("cancelled", { graceMs: 5_000 });
  expect(await running.exited).toMatchObject({ exitCode: 0 });
  await untilGone(-running.pid);
});

test("a grandchild in a session of its own is found while its parent lives", async () => {
  const running = await startScript("setsid sh -c 'echo $$; echo ready; exec sleep 60' & wait");
  const grandchild = Number(said().split("\n")[0]);
  await createTerminator(running, systemClock).stop("lost", { graceMs: 0 });
  await running.exited;
  await untilGone(grandchild);
});

test("a process that handles SIGTERM has time to clean up", async () => {
  const running = await startScript("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done");
  await createTerminator(running, systemClock).stop("cancelled", { graceMs: 10_000 });
  expect(await running.exited).toMatchObject({ exitCode: 7, signal: null });
  expect(said()).toBe("ready\nbye\n");
});

test("the first reason wins, and a later stop without grace ends the grace of the first", async () => {
  const running = await startScript("trap '' TERM; echo ready; while :; do sleep 0.02; done");
  const terminator = createTerminator<"cancelled" | "lost">(running, systemClock);
  const polite = terminator.stop("cancelled", { graceMs: 60_000 });
  await terminator.stop("lost", { graceMs: 0 });
  await polite;
  expect(terminator.reason).toBe("cancelled");
});

test("a process that has ended by itself has no reason", async () => {
  const running = await startScript("echo ready");
  await running.exited;
  const terminator = createTerminator(running, systemClock);
  await new Promise((resolve) => setImmediate(resolve));
  await terminator.stop("cancelled", { graceMs: 50 });
  expect(terminator.reason).toBeUndefined();
});

/** A dead process keeps its number until its new parent has waited for it. */
async function untilGone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 30_000);
}
