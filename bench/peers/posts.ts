import { execFileSync, fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FigureResult, spreadOf } from "../_contest.ts";
import { cpuByThread, treeCpuUs } from "../_cpu.ts";
import { median } from "../_figures.ts";
import type { BenchOptions } from "../_options.ts";
import { startStoredHub } from "./hubs.ts";
import { needPrograms, pathOf } from "./needs.ts";
import { paramsOf } from "./rival.ts";

type Target = { name: string; url: string; token: string; pid: number; stop(): Promise<void> };
type Run = { requestsPerSecond: number; cpuUs: number; threads: Record<string, number> };

const connections = 64;
const seconds = 3;

/** Single POSTs to the hub, beside a bare HTTP server that does nothing but the same durable insert. */
export async function comparePosts(
  name: string,
  { rounds, store }: Pick<BenchOptions, "rounds" | "store">,
): Promise<FigureResult> {
  needPrograms(["wrk"]);
  const dir = mkdtempSync(join(tmpdir(), "writ-bench-wrk-"));
  const targets: Target[] = [];
  try {
    targets.push({ ...(await startStoredHub(store)), name: "writ" });
    targets.push(await startBare(join(dir, "bare.db")));
    const found = new Map<string, Run[]>(targets.map((target) => [target.name, []]));
    for (const target of targets) post(target, dir, 1);
    for (let round = 1; round <= rounds; round++) {
      for (const target of round % 2 === 0 ? targets.toReversed() : targets) {
        const run = post(target, dir, seconds);
        found.get(target.name)!.push(run);
        console.error(
          `bench: round ${round} of ${rounds}: ${name}, ${target.name}: ${Math.round(run.requestsPerSecond)}/s`,
        );
      }
    }
    return resultOf(name, found, rounds);
  } finally {
    for (const target of targets) await target.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

function post(target: Target, dir: string, seconds: number): Run {
  const script = join(dir, `${target.name}.lua`);
  const body = JSON.stringify({ type: "noop", params: paramsOf(0) });
  // The token stands in the file and not in the arguments, which every user of the machine can read.
  const headers = { "content-type": "application/json", authorization: `Bearer ${target.token}` };
  const set = Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
  writeFileSync(script, [`wrk.method = "POST"`, ...set, `wrk.body = '${body}'`].join("\n"), { mode: 0o600 });
  const before = { cpuUs: treeCpuUs(target.pid), threads: cpuByThread(target.pid) };
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, `${target.url}/api/v1/jobs`];
  const output = execFileSync(pathOf("wrk"), args, { encoding: "utf8" });
  const requests = Number(/(\d+) requests in/.exec(output)![1]);
  if (/Non-2xx/.test(output)) throw new Error(`${target.name} refused requests of wrk:\n${output}`);
  const threads: Record<string, number> = {};
  for (const [name, us] of Object.entries(cpuByThread(target.pid))) {
    const used = Math.round((us - (before.threads[name] ?? 0)) / requests);
    if (used > 0) threads[name] = used;
  }
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)![1]),
    cpuUs: Math.round((treeCpuUs(target.pid) - before.cpuUs) / requests),
    threads,
  };
}

function resultOf(figure: string, found: ReadonlyMap<string, Run[]>, rounds: number): FigureResult {
  const rates = (name: string) => found.get(name)!.map(({ requestsPerSecond }) => requestsPerSecond);
  const entries = [...found].map(([rival, runs]) => ({
    rival,
    value: median(rates(rival)),
    spread: spreadOf(rates(rival)),
    cpu_us: { client: 0, server: median(runs.map(({ cpuUs }) => cpuUs)), threads: runs.at(-1)!.threads },
  }));
  const ratios = rates("writ").map((rate, round) => rate / rates("bare")[round]!);
  return {
    figure,
    unit: "requests/s",
    rounds,
    entries,
    ratios: [{ to: "bare", value: median(ratios), spread: spreadOf(ratios) }],
  };
}

async function startBare(path: string): Promise<Target> {
  const child = fork(join(import.meta.dirname, "bare-server.ts"), [path], { stdio: ["ignore", 2, 2, "ipc"] });
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", (message: { port: number }) => resolve(message.port));
    child.once("exit", (code) => reject(new Error(`the bare server ended with ${code}`)));
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.disconnect();
    });
  return { name: "bare", url: `http://127.0.0.1:${port}`, token: "none", pid: child.pid!, stop };
}
