import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { parseDocument } from "yaml";
import type { EventView, JobView } from "../../src/contract/shapes/view-shapes.ts";
import { root } from "../docs/page.ts";
import { cageTest, obstacle } from "../sandbox/cage-stage.ts";
import { type Credentials, makeCredentials, openHttps, portOf } from "../sandbox/egress-world.ts";
import { openEventStream } from "../support/event-stream.ts";
import { runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";
import { makeRepo, model } from "./delegate-stage.ts";

/**
 * A closed network from end to end: `writ worker` with a file, a hub, and `jobctl delegate`. The entry's agent looks for the key
 * in everything that it can read.
 */
const key = "sk-live-7c1d5e9f3b2a4068";
const hub = hubForAll();
let dir: string;
let credentials: Credentials;
let api: Server;
let worker: ChildProcess | undefined;
const seen: string[] = [];

beforeAll(async () => {
  if (obstacle !== null) return;
  dir = mkdtempSync("/var/tmp/writ-closed-");
  chmodSync(dir, 0o755);
  credentials = makeCredentials(["localhost"]);
  api = await openHttps(credentials, (request, response) => {
    seen.push(String(request.headers["x-api-key"]));
    response.end(`the model says: ${request.headers["x-api-key"]}\n`);
  });
  await startWorker();
});
afterAll(async () => {
  const running = worker;
  if (running !== undefined && running.exitCode === null) {
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill();
    await ended;
  }
  api?.close();
  credentials?.close();
  if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
});

/** The key in two halves: so the script that looks for it does not hold it. */
const search = `
import os, re, sys
half = "sk-live-7c1d"; word = (half + "5e9f3b2a4068").encode()
del half
control = (os.environ["HALF"] + "-control").encode()
places, controls = [], []
def look(name, data):
    if word in data: places.append(name)
    if control in data: controls.append(re.sub(r"[0-9]+", "N", name))
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    for part in ("environ", "cmdline"):
        try: look(f"/proc/{pid}/{part}", open(f"/proc/{pid}/{part}", "rb").read())
        except OSError: pass
    if int(pid) == os.getpid(): continue
    try:
        maps = open(f"/proc/{pid}/maps").read().splitlines()
        memory = open(f"/proc/{pid}/mem", "rb", 0)
    except OSError: continue
    for line in maps:
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        try:
            memory.seek(start); look(f"/proc/{pid}/mem", memory.read(min(end - start, 1 << 26)))
        except (OSError, OverflowError, ValueError): pass
for top in ("/work", "/tmp", "/run", "/var", "/home", "/etc", os.getcwd()):
    for where, _, names in os.walk(top):
        for name in names:
            path = os.path.join(where, name)
            try:
                if os.path.isfile(path) and os.path.getsize(path) < (1 << 24): look(path, open(path, "rb").read())
            except OSError: pass
print("found in:", places)
print("control in:", sorted(set(controls)))
`;

async function startWorker(): Promise<void> {
  writeFileSync(join(dir, "model.key"), `${key}\n`, { mode: 0o600 });
  const file = join(dir, "worker.yaml");
  const out = ["workers", "add", "closed", "--home", hub.home, "--out", file];
  expect(await runCli("writ", out, { env: {} })).toMatchObject({ code: 0 });
  const document = parseDocument(readFileSync(file, "utf8"));
  const script = [
    "curl -sS http://localhost.writ.internal/ask",
    "curl -sS https://denied.example/ || true",
    "env | sort",
    // To see that the search finds what is there: in a file, in an environment, and in memory.
    'export HALF=canary; echo canary-control > /tmp/control; W=canary-control sleep 60 & python3 -c "$SEARCH"; kill %1',
    "echo asked > src/new.txt",
  ].join("; ");
  const agent = {
    name: "asker",
    command: ["sh", "-c", script],
    egress: { allow: [], inject: ["MODEL_KEY"] },
    env_from_worker: ["SEARCH"],
  };
  const inject = { host: `localhost:${portOf(api)}`, header: "X-Api-Key" };
  const added = {
    capabilities: [model],
    security: { allowed_path_prefixes: ["src"] },
    execution: {
      isolation: "best-effort",
      agents: [agent],
      egress: { allow: [`127.0.0.1:${portOf(api)}`, `[::1]:${portOf(api)}`] },
      secrets: { MODEL_KEY: { file: join(dir, "model.key"), tenants: ["default"], inject } },
    },
  };
  for (const [name, content] of Object.entries(added)) document.set(name, content);
  writeFileSync(file, document.toString(), { mode: 0o600 });
  const args = ["worker", "--config", file, "--home", join(dir, "worker-home")];
  const env = {
    PATH: process.env["PATH"],
    HOME: dir,
    NODE_EXTRA_CA_CERTS: credentials.certFile,
    SEARCH: search,
  };
  worker = spawn(join(root, "bin/writ"), args, { stdio: ["ignore", "pipe", "inherit"], env });
  const running = worker;
  await new Promise<void>((resolve, reject) => {
    running.stdout?.once("data", () => resolve());
    running.once("exit", (code) => reject(new Error(`the worker ended with ${code}`)));
  });
}

cageTest("a delegate entry with egress reaches its model by a key that the agent finds nowhere", async () => {
  const repo = makeRepo(join(dir, "repo"));
  mkdirSync(join(dir, "there"));
  const stream = await openEventStream(hub, "/jobs/events", { token: hub.admin });
  const env = { WRIT_HOME: hub.home };
  const flags = ["--allow", "src", "--agent", "asker", "--attempts", "1"];
  const asked = await runCli("jobctl", ["delegate", "Ask the model.", ...flags], { env, cwd: repo });
  expect(asked, asked.stderr).toMatchObject({ code: 0 });
  expect(seen).toEqual([key]);
  // What the server said back is masked, and nothing that the agent could read has the key.
  expect(asked.stdout).toContain(`the model says: ${"*".repeat(key.length)}\n`);
  expect(asked.stdout).toContain("found in: []\n");
  expect(asked.stdout).toMatch(/control in: \[.*'\/proc\/N\/environ'.*'\/proc\/N\/mem'.*'\/tmp\/control'/);
  expect(asked.stdout).not.toContain(key);

  const { data } = await stream.until("the end", ({ event }) => event === "job:completed");
  const id = String(data["id"]);
  const job = (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>();
  expect(job.usage?.network).toMatchObject({ requests: 2, denied: 1 });
  expect(job.isolation?.network).toMatchObject({
    inject: ["MODEL_KEY"],
    allowed: [{ requests: 1 }],
    denied: [{ host: "denied.example:443", requests: 1 }],
  });
  const status = await runCli("jobctl", ["status", id], { env });
  expect(status.stdout).toMatch(/network +closed; 2 requests, 1 denied/);
  const events = (await hub.must("GET", `/jobs/${id}/events`, { token: hub.admin })).json<EventView[]>();
  const end = events.find(({ event }) => event === "JOB_COMPLETED")!;
  expect(end.details["network"]).toMatchObject({ denied: 1, denied_hosts: [{ host: "denied.example:443" }] });
  expect(JSON.stringify([job, events])).not.toContain(key);
  const verified = await runCli("jobctl", ["verify", id], { env });
  expect(verified, verified.stdout).toMatchObject({ code: 0 });
});
