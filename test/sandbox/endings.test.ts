import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import { createTerminator } from "../../src/sandbox/terminate.ts";
import { eventually } from "../support/eventually.ts";
import {
  cageTest,
  cgroupOf,
  childNamed,
  openSandbox,
  planJob,
  processesWith,
  runJob,
  setStage,
  startUntilReady,
} from "./cage-stage.ts";

const stage = setStage();
let marks = 0;

/** A number of seconds that no other process sleeps for, so that its sleepers can be found. */
function mark(): string {
  marks += 1;
  return `${100_000 + (process.pid % 10_000)}.${String(marks).padStart(3, "0")}`;
}

/** Daemons that have left session, group and parent, and heed nothing. */
const daemons = (seconds: string) =>
  `for i in 1 2 3; do (setsid sh -c "trap '' TERM INT HUP; (trap '' TERM; exec sleep ${seconds}) & exit" &) ; done; ` +
  `while [ $(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '^${seconds}$') -lt 3 ]; do :; done; echo ready; `;

cageTest("a job that heeds SIGTERM may tidy up", async () => {
  const { running, plan } = await startUntilReady(
    stage,
    "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done",
  );
  await createTerminator(running, systemClock).stop("stopped", { graceMs: 10_000 });
  expect(await running.exited).toMatchObject({ exitCode: 7 });
  expect(readFileSync(plan.stdoutFile, "utf8")).toBe("ready\nbye\n");
});

cageTest("one that ignores it is killed after the grace", async () => {
  const { running } = await startUntilReady(stage, "trap '' TERM; echo ready; while :; do sleep 0.02; done");
  await createTerminator(running, systemClock).stop("stopped", { graceMs: 50 });
  expect(await running.exited).toMatchObject({ signal: "SIGKILL" });
});

cageTest("a stop reaches daemons that have left session, group and parent", async () => {
  const seconds = mark();
  const { running, plan } = await startUntilReady(stage, `${daemons(seconds)} wait; sleep ${seconds}`);
  expect(processesWith(seconds).length).toBeGreaterThanOrEqual(3);
  await createTerminator(running, systemClock).stop("stopped", { graceMs: 0 });
  expect(processesWith(seconds)).toEqual([]);
  const cgroup = cgroupOf(stage, plan);
  if (cgroup !== null) expect(existsSync(cgroup)).toBe(false);
});

cageTest("daemons do not outlive the job that left them", async () => {
  const seconds = mark();
  const { running } = await startUntilReady(stage, `${daemons(seconds)} exit 0`);
  expect(await running.exited).toMatchObject({ exitCode: 0 });
  expect(processesWith(seconds)).toEqual([]);
});

cageTest("killing the pid that is announced ends the whole cage, as the lease's guard does", async () => {
  const seconds = mark();
  const { running } = await startUntilReady(stage, `${daemons(seconds)} sleep ${seconds}`);
  process.kill(running.pid, "SIGKILL");
  expect(await running.exited).toMatchObject({ signal: "SIGKILL" });
  expect(processesWith(seconds)).toEqual([]);
});

cageTest(
  "when the launcher dies its jobs are lost and gone, and the next job gets a new launcher",
  async () => {
    const seconds = mark();
    const { running, plan } = await startUntilReady(stage, `${daemons(seconds)} sleep ${seconds}`);
    process.kill(childNamed("writ-launcher"), "SIGKILL");
    expect(await running.exited).toMatchObject({
      exitCode: null,
      lost: expect.stringContaining("the launcher is gone"),
    });
    await eventually("nothing is left", () => processesWith(seconds).length === 0);
    const cgroup = cgroupOf(stage, plan);
    if (cgroup !== null) expect(existsSync(cgroup)).toBe(false);
    expect(await runJob(stage, ["echo", "again"])).toMatchObject({ exitCode: 0, stdout: "again\n" });
  },
);

cageTest("when the launcher dies, what it held of a job's output is lost with the job", async () => {
  const seconds = mark();
  const plan = planJob(stage, ["sh", "-c", `echo held; : > written; exec sleep ${seconds}`], {
    holdMs: 1000,
  });
  const starting = stage.sandbox.start(plan);
  await eventually("it has written", () => existsSync(join(plan.workDir, "written")));
  process.kill(childNamed("writ-launcher"), "SIGKILL");
  const exit = await (await starting).exited;
  expect(exit).toMatchObject({ exitCode: null, lost: expect.stringContaining("the launcher is gone") });
  expect(exit.output).toBeUndefined();
  await eventually("nothing is left", () => processesWith(seconds).length === 0);
  expect(await runJob(stage, ["echo", "again"])).toMatchObject({ exitCode: 0, stdout: "again\n" });
});

cageTest(
  "A18: a launcher that is stopped loses its jobs within a minute, and one that answers does not",
  async () => {
    const clock = handClock();
    await stage.sandbox.close();
    stage.sandbox = await openSandbox(stage.dir, { clock });
    const { running } = await startUntilReady(stage, "echo ready; exec sleep 1000");
    await clock.pass(15_000);
    // Answers come in order: after this one, the question that was asked before it has been answered too.
    expect(await runJob(stage, ["true"])).toMatchObject({ exitCode: 0 });
    await clock.pass(45_000);
    expect(await runJob(stage, ["true"])).toMatchObject({ exitCode: 0 });

    process.kill(childNamed("writ-launcher"), "SIGSTOP");
    await clock.pass(60_000);
    expect(await running.exited).toMatchObject({
      lost: expect.stringContaining("has not answered for 45 s"),
    });
    expect(await runJob(stage, ["echo", "again"])).toMatchObject({ exitCode: 0, stdout: "again\n" });
  },
);

cageTest("closing the sandbox ends what runs", async () => {
  const seconds = mark();
  const other = { dir: stage.dir, sandbox: await openSandbox(stage.dir) };
  const { running } = await startUntilReady(other, `${daemons(seconds)} sleep ${seconds}`);
  await other.sandbox.close();
  expect(await running.exited).toMatchObject({ lost: expect.any(String) });
  expect(processesWith(seconds)).toEqual([]);
});

cageTest("kill -9 of a worker leaves no process, and its next start no cgroup", async () => {
  const seconds = mark();
  const jobId = `killed-${process.pid}`;
  const script = join(import.meta.dirname, "run-one-job.ts");
  const child = spawn(process.execPath, [script, stage.dir, jobId, `${daemons(seconds)} sleep ${seconds}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  expect(processesWith(seconds).length).toBeGreaterThanOrEqual(3);
  child.kill("SIGKILL");
  await eventually("nothing is left", () => processesWith(seconds).length === 0);

  const next = await openSandbox(stage.dir);
  await next.sweep([jobId]);
  const cgroup = cgroupOf(stage, { ...planJob(stage, []), jobId });
  if (cgroup !== null) expect(existsSync(cgroup)).toBe(false);
  await next.close();
});
