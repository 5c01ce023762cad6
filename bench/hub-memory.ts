import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { FigureResult } from "./_contest.ts";
import { startBenchHub } from "./_hub.ts";
import { readOptions } from "./_options.ts";
import { conclude } from "./_results.ts";

// npm run bench -- hub-memory [--json] [--save] What a hub with nothing to do holds, next to a Node that does nothing.
// The first start in a home also makes certificates, and what it loads for that stays; every later start is without.
// The thread that reads is started by what a hub looks at when it starts, and ends when no reader has read anything for
// 75 seconds. Why: ADR 0017.
const settleMs = 5_000;
const restMs = 80_000;
const found: Record<string, { resident: number; own: number }> = {};

const node = spawn(process.execPath, ["-e", "setInterval(() => {}, 1 << 30)"], { stdio: "ignore" });
try {
  await once(node, "spawn");
  await tell("bare node", node.pid!);
} finally {
  node.kill("SIGKILL");
}

const first = await startBenchHub();
await tell("idle hub, first start in a home", first.pid).finally(first.leave);
const later = await startBenchHub({}, first.home);
try {
  await tell("hub that has just started", later.pid);
  await sleep(restMs);
  await tell("idle hub", later.pid);
} finally {
  await later.stop();
}
conclude("hub-memory", [resultOf("resident"), resultOf("own")], readOptions());

/** Resident memory, and how much of it no other process could share. */
async function tell(name: string, pid: number): Promise<void> {
  await sleep(settleMs);
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mb = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)![1]) / 1024;
  found[name] = { resident: mb("VmRSS"), own: mb("RssAnon") };
}

function resultOf(kind: "resident" | "own"): FigureResult {
  const names = Object.keys(found).reverse();
  const entries = names.map((rival) => {
    const value = found[rival]![kind];
    return { rival, value, spread: [value, value] as [number, number] };
  });
  const figure = kind === "own" ? "memory that no other process could share" : "resident memory";
  return { figure, unit: "MB", rounds: 1, entries, ratios: [] };
}
