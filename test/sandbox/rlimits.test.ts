import { expect } from "vitest";
import { cageTest, planJob, runScript, setStage, startUntilReady } from "./cage-stage.ts";

const stage = setStage({ level: "best-effort" });

/** A test of what stands in for a limit; where a cgroup enforces the limit itself there is nothing to see. */
function netTest(part: string, name: string, run: () => Promise<void>): void {
  cageTest(name, async () => {
    const asked = planJob(stage, ["true"], { ...everything, timeoutSec: 60 });
    const { applied, missing } = await stage.sandbox.probe(asked);
    // As root, processes cannot be counted for one job.
    const isExpected =
      missing.some((one) => one.part === part) && (part !== "pids" || process.getuid!() !== 0);
    expect(applied.includes(`${part}: rlimit`)).toBe(isExpected);
    if (isExpected) await run();
  });
}

const everything = {
  limitsText: { cpu: "10m", memory: "64M", pids: 8 },
  asked: ["cpuMillis", "memoryBytes", "pidsMax"],
} as const satisfies Parameters<typeof planJob>[2];

netTest("memory", "a process cannot allocate much more than the memory that was asked for", async () => {
  const script = "dd if=/dev/zero of=/dev/null bs=1200M count=1";
  const { exitCode, stderr } = await runScript(stage, script, everything);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("memory exhausted");
  expect(await runScript(stage, "dd if=/dev/zero of=/dev/null bs=1M count=1", everything)).toMatchObject({
    exitCode: 0,
  });
});

netTest("cpu", "a process that has used its CPU time up is ended", async () => {
  const ran = await runScript(stage, "while :; do :; done", { ...everything, timeoutSec: 1 });
  expect(ran).toMatchObject({ exitCode: null, signal: "SIGXCPU" });
});

netTest("pids", "a job has the processes that it may have, whatever its neighbours have", async () => {
  const neighbour = "for i in 1 2 3 4 5 6; do sleep 600 & done; echo ready; wait";
  const others = [await startUntilReady(stage, neighbour, everything)];
  others.push(await startUntilReady(stage, neighbour, everything));
  const count = "n=1; while [ $n -lt 20 ]; do sleep 60 & n=$((n+1)); echo $n; done";
  const { stdout, stderr } = await runScript(stage, count, everything);
  expect(stdout.trim().split("\n").at(-1)).toBe("8");
  expect(stderr).toContain("Cannot fork");
  for (const { running } of others) {
    await running.killTree();
    await running.exited;
  }
});

cageTest("without a cgroup a single file cannot fill the disk", async () => {
  const { applied, missing } = await stage.sandbox.probe(planJob(stage, ["true"]));
  const isExpected = missing.some(({ part }) => part === "cgroup");
  expect(applied.includes("file_size: rlimit")).toBe(isExpected);
  const { stdout } = await runScript(stage, "ulimit -f");
  expect(stdout.trim() === "unlimited").toBe(!isExpected);
});
