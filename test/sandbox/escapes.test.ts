import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { cageTest, isOrdinaryUser, obstacle, planJob, setStage } from "./cage-stage.ts";

const stage = setStage();
let dir: string;
let probe: string;

beforeAll(() => {
  if (obstacle !== null) return;
  dir = mkdtempSync(join(tmpdir(), "writ-probe-"));
  probe = join(dir, "probe");
  const source = join(import.meta.dirname, "../../launcher/test/probe.c");
  const built = spawnSync("cc", ["-std=c11", "-O1", "-static", "-o", probe, source], { encoding: "utf8" });
  if (built.status !== 0) throw new Error(built.stderr);
});
afterAll(() => {
  if (obstacle === null) rmSync(dir, { recursive: true, force: true });
});

async function runProbe(network: "host" | "none"): Promise<{ lines: string[]; exitCode: number | null }> {
  const argv = ["/work/probe"];
  if (network === "host") argv.push("--host-network");
  if (isOrdinaryUser()) argv.push("--user-namespace");
  const plan = planJob(stage, argv, { limitsText: { network } });
  copyFileSync(probe, join(plan.workDir, "probe"));
  chmodSync(join(plan.workDir, "probe"), 0o755);
  const running = await stage.sandbox.start(plan);
  const { exitCode } = await running.exited;
  return { lines: readFileSync(plan.stdoutFile, "utf8").trim().split("\n"), exitCode };
}

for (const network of ["host", "none"] as const) {
  cageTest(`every try to get out of a cage is blocked (network: ${network})`, async () => {
    const { lines, exitCode } = await runProbe(network);
    const [last, ...tries] = [lines.at(-1), ...lines.slice(0, -1)];
    expect(tries.filter((line) => !line.includes(": blocked"))).toEqual([]);
    expect(tries.length).toBeGreaterThanOrEqual(60);
    expect(last).toMatch(/, 0 escaped$/);
    expect(exitCode).toBe(0);
  });
}
