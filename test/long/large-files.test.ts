import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  createReadStream,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../docs/page.ts";
import { type BrokenCable, startBrokenCable } from "../support/broken-cable.ts";
import { HubProcess } from "../support/hub-process.ts";
import { peakMib, watchPeakMib } from "../support/peak-memory.ts";
import { WorkerProcess } from "../support/worker-process.ts";

const gib = 1024 ** 3;
const mib = 1024 ** 2;
/** Buffers that Node has not collected yet, far below the size of the file. */
const growthMibMax = 150;

const hub = new HubProcess();
const dir = mkdtempSync(join(tmpdir(), "writ-large-"));
let worker: WorkerProcess;
let cable: BrokenCable;

beforeAll(async () => {
  await hub.start();
  cable = await startBrokenCable(Number(new URL(hub.url).port));
  worker = new WorkerProcess(hub, "large");
  await worker.enrol();
  const config = join(worker.home, "agents.yaml");
  writeFileSync(config, readFileSync(config, "utf8").replaceAll(hub.url, cable.url));
  worker.start();
});
afterAll(async () => {
  await worker.remove();
  await cable.stop();
  await hub.remove();
  rmSync(dir, { recursive: true, force: true });
});

/** A file that takes no room but for a few bytes here and there, which no two places have in common. */
function makeFile(name: string, size: number): string {
  const path = join(dir, name);
  const file = openSync(path, "w");
  for (let at = 0; at < size; at += 16 * mib) writeSync(file, `${name} ${at}`, at);
  writeSync(file, "\n", size - 1);
  return path;
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/** Sends a file through a job and back, and gives the most memory that each program has had. */
async function roundTrip(path: string, saved: string) {
  const flags = ["--hub", cable.url, "--token", hub.token, "--input", `data=${path}`, "--output", saved];
  const words = ["--cpu", "max", "--mem", "max", "--io", "high", "--", "cp", "inputs/data", "output/data"];
  const args = ["run", ...flags, ...words];
  const child = spawn(join(root, "bin/jobctl"), args, { stdio: ["ignore", "ignore", "pipe"], cwd: dir });
  let errors = "";
  child.stderr.on("data", (text) => (errors += text));
  let isOver = false;
  const code = new Promise<number | null>((resolve) => child.once("exit", resolve)).finally(
    () => (isOver = true),
  );
  const cli = await watchPeakMib(child.pid!, () => isOver);
  expect(await code, errors).toBe(0);
  return { hub: peakMib(hub.pid)!, worker: peakMib(worker.pid)!, cli };
}

test("a file of 2 GiB goes in and out, over connections that break, with flat memory in hub, worker and jobctl", async () => {
  const small = await roundTrip(makeFile("small", mib), join(dir, "saved-small"));
  const path = makeFile("large", 2 * gib);
  // In the middle of the upload, of the worker's download, of its upload, and of the download.
  cable.cutAfter(gib, 1.2 * gib, 1.2 * gib, 1.2 * gib);
  const large = await roundTrip(path, join(dir, "saved"));
  expect(cable.cuts).toBe(4);
  expect(readdirSync(join(dir, "saved"))).toEqual(["data"]);
  expect(statSync(join(dir, "saved/data")).size).toBe(2 * gib);
  expect(await sha256(join(dir, "saved/data"))).toBe(await sha256(path));
  const growth = {
    hub: large.hub - small.hub,
    worker: large.worker - small.worker,
    cli: large.cli - small.cli,
  };
  console.log(JSON.stringify({ small, large, growth }));
  for (const [program, grown] of Object.entries(growth)) expect(grown, program).toBeLessThan(growthMibMax);
});
