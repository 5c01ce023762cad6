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
import { afterAll, expect, test } from "vitest";
import { root } from "../docs/page.ts";
import { type BrokenCable, startBrokenCable } from "../support/broken-cable.ts";
import { HubProcess } from "../support/hub-process.ts";
import { peakMib, watchPeakMib } from "../support/peak-memory.ts";
import type { S3Fault } from "../support/s3-proxy.ts";
import { startS3Server } from "../support/s3-server.ts";
import { WorkerProcess } from "../support/worker-process.ts";

const gib = 1024 ** 3;
const mib = 1024 ** 2;
/** Buffers that Node has not collected yet, far below the size of the file. */
const growthMibMax = 150;

const dir = mkdtempSync(join(tmpdir(), "writ-large-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A hub and a worker as users run them, and the address under which both the worker and jobctl reach the hub. */
type Place = { hub: HubProcess; worker: WorkerProcess; url: string };

async function start(
  env: Record<string, string>,
  urlOf: (hub: HubProcess) => Promise<string>,
): Promise<Place> {
  const hub = new HubProcess(env);
  await hub.start();
  const url = await urlOf(hub);
  const worker = new WorkerProcess(hub, "large");
  await worker.enrol();
  const config = join(worker.home, "agents.yaml");
  writeFileSync(config, readFileSync(config, "utf8").replaceAll(hub.url, url));
  worker.start();
  return { hub, worker, url };
}

async function remove({ hub, worker }: Place): Promise<void> {
  await worker.remove();
  await hub.remove();
}

/** A file that takes no room except for a few bytes here and there, which no two places have in common. */
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
async function roundTrip({ hub, worker, url }: Place, path: string, saved: string) {
  const flags = ["--hub", url, "--token", hub.token, "--input", `data=${path}`, "--output", saved];
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

/** The same with a small file and one of 2 GiB: it arrives unchanged, and no program needs more memory for it. */
async function compare(place: Place, breakLines: () => void): Promise<void> {
  const small = await roundTrip(place, makeFile("small", mib), join(dir, "saved-small"));
  const path = makeFile("large", 2 * gib);
  breakLines();
  const saved = join(dir, "saved");
  const large = await roundTrip(place, path, saved);
  expect(readdirSync(saved)).toEqual(["data"]);
  expect(statSync(join(saved, "data")).size).toBe(2 * gib);
  expect(await sha256(join(saved, "data"))).toBe(await sha256(path));
  rmSync(saved, { recursive: true });
  const growth = {
    hub: large.hub - small.hub,
    worker: large.worker - small.worker,
    cli: large.cli - small.cli,
  };
  console.log(JSON.stringify({ small, large, growth }));
  for (const [program, grown] of Object.entries(growth)) expect(grown, program).toBeLessThan(growthMibMax);
}

test("a file of 2 GiB goes in and out, over connections that break, with flat memory in hub, worker and jobctl", async () => {
  let cable: BrokenCable | undefined;
  const place = await start({}, async (hub) => {
    cable = await startBrokenCable(Number(new URL(hub.url).port));
    return cable.url;
  });
  try {
    // In the middle of the upload, of the worker's download, of its upload, and of the download.
    await compare(place, () => cable!.cutAfter(gib, 1.2 * gib, 1.2 * gib, 1.2 * gib));
    expect(cable!.cuts).toBe(4);
  } finally {
    await remove(place);
    await cable?.stop();
  }
});

test("and the same over an object store, in parts, of which no more than the broken one is sent again", async () => {
  const s3 = await startS3Server();
  const place = await start(s3.env, async (hub) => hub.url);
  const broken: string[] = [];
  const puts: string[] = [];
  const breakOnce = (what: string, fault: S3Fault): S3Fault | undefined => {
    if (broken.includes(what)) return undefined;
    broken.push(what);
    return fault;
  };
  const fault = (method: string, url: string): S3Fault | undefined => {
    const { pathname, searchParams } = new URL(url, s3.proxy.url);
    const upload = `${pathname} ${searchParams.get("partNumber")}`;
    if (method === "PUT" && searchParams.has("partNumber")) {
      puts.push(upload);
      if (searchParams.get("partNumber") === "64")
        return breakOnce(`PUT ${upload}`, { kind: "cut request", afterBytes: 8 * mib });
    }
    // What the hub reads itself to hash it, and what the worker and jobctl download.
    const who = searchParams.has("X-Amz-Signature") ? "callers" : "the hub";
    const isFile = method === "GET" && !searchParams.has("uploadId") && !pathname.includes("/.uploads/");
    return isFile
      ? breakOnce(`GET by ${who} ${pathname}`, { kind: "cut answer", afterBytes: gib })
      : undefined;
  };
  try {
    await compare(place, () => {
      s3.proxy.fault = fault;
    });
    // A part, the hub's reading and a download, each on the way in and on the way out.
    expect(broken).toHaveLength(6);
    expect(puts).toHaveLength(2 * 128 + 2);
  } finally {
    await remove(place);
    await s3.stop();
  }
});
