import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Workload } from "./workloads.ts";

const acts = 5;
const attachesWithinMs = 5_000;

/** System calls of the hub's process, all threads, by strace: shown, not checked, and only where strace may attach. */
export async function countSyscalls(pid: number, workload: Workload): Promise<string> {
  const child = spawn("strace", ["-c", "-f", "-p", String(pid)], { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  const exited = new Promise<void>((resolve) => {
    child.once("error", () => resolve()).once("exit", () => resolve());
  });
  const attached = new Promise<void>((resolve) => {
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("attached")) resolve();
    });
  });
  const late = AbortSignal.timeout(attachesWithinMs);
  await Promise.race([attached, exited, once(late, "abort")]);
  if (!text.includes("attached")) {
    child.kill("SIGKILL");
    return "system calls not counted: strace cannot attach";
  }
  for (let act = 0; act < acts; act++) await workload.act();
  child.kill("SIGINT");
  await exited;
  return summaryOf(text, acts * workload.jobs);
}

function summaryOf(text: string, jobs: number): string {
  const rows = [...text.matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$/gm)];
  const perJob = (count: number) => Number((count / jobs).toFixed(1));
  const calls = rows
    .filter(([, , name]) => name !== "total")
    .map(([, count, name]) => ({ name, count: Number(count) }));
  const total = calls.reduce((sum, { count }) => sum + count, 0);
  const most = calls.toSorted((left, right) => right.count - left.count).slice(0, 5);
  const shown = most.map(({ name, count }) => `${name} ${perJob(count)}`).join(", ");
  return `${perJob(total)} system calls (${shown})`;
}
