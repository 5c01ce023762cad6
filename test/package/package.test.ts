import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { startTestWorker, type TestWorker } from "../support/worker.ts";
import { describeHubNode } from "./hub-node.ts";
import { readImports } from "./import-graph.ts";
import {
  addHubNode,
  hostNode,
  type InstalledPackage,
  installPackage,
  pathWith,
} from "./installed-package.ts";
import { describeNewUser } from "./new-user.ts";
import { describeNodeVersions } from "./node-versions.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const libraries = ["client", "worker", "jobs", "sandbox", "registry", "testing"];
let installed: InstalledPackage;
let hub: TestHub;
let worker: TestWorker;

beforeAll(async () => {
  installed = installPackage();
  hub = await startTestHub();
  worker = await startTestWorker(hub);
});
afterAll(async () => {
  await worker.stop();
  await hub.stop();
  installed.remove();
});

function manifest(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(installed.folder, "package.json"), "utf8"));
}

test("the package can be published, runs nothing when it is installed and depends on nothing", () => {
  expect(Object.keys(manifest()).sort()).toEqual([
    "bin",
    "description",
    "engines",
    "exports",
    "license",
    "name",
    "sideEffects",
    "type",
    "version",
  ]);
});

test("the package, its programs and the package for Python have one version", async () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  expect(manifest()["version"]).toBe(version);
  expect(readFileSync(join(root, "python/pyproject.toml"), "utf8")).toContain(`\nversion = "${version}"\n`);
  for (const program of ["writ", "jobctl", "writ-agent"]) {
    const { stdout } = await run(join(installed.app, "node_modules/.bin", program), ["--version"]);
    expect(stdout, program).toBe(`${version}\n`);
  }
});

test("everything that its package.json names is there, and programs are scripts that npm can link anywhere", () => {
  const { exports, bin } = manifest() as {
    exports: Record<string, string | object>;
    bin: Record<string, string>;
  };
  expect(Object.keys(exports)).toEqual([...libraries.map((name) => `./${name}`), "./package.json"]);
  for (const places of Object.values(exports))
    for (const place of typeof places === "string" ? [places] : Object.values(places))
      expect(existsSync(join(installed.folder, place)), place).toBe(true);
  expect(Object.keys(bin).sort()).toEqual(["jobctl", "writ", "writ-agent"]);
  for (const place of Object.values(bin))
    expect(readFileSync(join(installed.folder, place), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test("its dashboard shows commands as somebody types them who has installed it", () => {
  const page = readFileSync(join(installed.folder, "built/dashboard/index.html"));
  const compressed = readFileSync(join(installed.folder, "built/dashboard/index.html.gz"));
  expect(page.toString()).toContain('<meta name="writ-programs" content="npx "');
  expect(gunzipSync(compressed).equals(page)).toBe(true);
});

test("client, writ/jobs and jobctl load nothing that only Linux or only a new Node has", () => {
  const lib = join(installed.folder, "lib");
  for (const [entry, onDemand] of [
    ["client.js", false],
    ["jobs.js", true],
    ["program-jobctl.js", false],
  ] as const) {
    const { modules, text } = readImports(lib, entry, { onDemand });
    expect(
      modules.filter((name) => !name.startsWith("node:")),
      entry,
    ).toEqual([]);
    expect(text, entry).not.toContain("node:sqlite");
    expect(modules, entry).not.toContain("node:worker_threads");
    expect(text, entry).not.toMatch(/\/proc\/|\/sys\/fs|inotify|writ-launcher/);
  }
});

test("the client is small, and the libraries share the classes of their errors", () => {
  const lib = join(installed.folder, "lib");
  const { bytes, text } = readImports(lib, "client.js", { onDemand: false });
  expect(bytes).toBeLessThan(1_000_000);
  expect(text.match(/\bWritError = class\b/g)).toHaveLength(1);
  const all = readImports(lib, "worker.js", { onDemand: true });
  expect(all.text.match(/\bWritError = class\b/g)).toHaveLength(1);
});

test("an older Node loads the client, writ/jobs and writ/worker", async () => {
  const PATH = pathWith(hostNode(), installed.app);
  const script = ["client", "jobs", "worker"].map((name) => `await import("writ/${name}");`).join(" ");
  const options = { cwd: installed.app, env: { PATH, HOME: installed.app } };
  const words = ["--input-type=module", "-e", `${script} console.log("loaded")`];
  expect((await run("node", words, options)).stdout).toBe("loaded\n");
});

test("a library that an older Node cannot run says so, and which Node that is", async ({ skip }) => {
  const node = hostNode();
  const { stdout: version } = await run(node, ["--version"]);
  if (Number(/^v(\d+)/.exec(version)?.[1]) >= 26) return skip("not capable: no older Node on the PATH");
  const options = { cwd: installed.app, env: {} };
  const script = 'await import("writ/registry").catch((error) => console.log(error.message))';
  const { stdout } = await run(node, ["--input-type=module", "-e", script], options);
  expect(stdout).toBe(
    `writ/registry needs Node 26 or newer; this is Node ${version.trim().slice(1)} (${realpathSync(node)})\n`,
  );
  for (const name of ["worker", "registry"]) {
    const load = `console.log(Object.keys(require("writ/${name}")).length > 0)`;
    expect((await run(process.execPath, ["-e", load], options)).stdout).toBe("true\n");
  }
});

describeHubNode(() => installed);

test.each(["node16", "bundler"])(
  "programs compile with --strict, and check our declarations, by %s",
  async (resolution) => {
    const folder = join(installed.app, `types-${resolution}`);
    mkdirSync(folder);
    const types = join(installed.app, "node_modules/@types");
    if (!existsSync(types)) symlinkSync(join(root, "node_modules/@types"), types);
    writeFileSync(join(folder, "program.ts"), program);
    writeFileSync(join(folder, "submit.ts"), submitProgram);
    const module = resolution === "bundler" ? "esnext" : resolution;
    const flags = [
      "--strict",
      "--skipLibCheck",
      "false",
      "--target",
      "es2022",
      "--types",
      "node",
      "--module",
      module,
    ];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(
      process.execPath,
      [tsc, ...flags, "--moduleResolution", resolution, "program.ts", "submit.ts"],
      {
        cwd: folder,
      },
    ).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
    expect(existsSync(join(folder, "program.js"))).toBe(true);
    // Against a hub, so that what compiled is also what is there; by bundler resolution too, since Node finds the same files.
    const env = { PATH: pathWith(hostNode(), installed.app), WRIT_HUB_URL: hub.url, WRIT_TOKEN: hub.admin };
    const { stdout: printed } = await run("node", ["submit.js"], { cwd: folder, env, timeout: 120_000 });
    expect(printed).toBe("completed\n");
  },
);

const program = `
import { defineJob, type Job, JobFailure, Writ, WritError } from "writ/client";
import { type JobServer, serveJobs, withSchema } from "writ/jobs";
import { list, register } from "writ/registry";
import { openCage, SandboxUnavailable } from "writ/sandbox";
import { callHandler, TestHub } from "writ/testing";
import { Worker } from "writ/worker";

export async function submit(writ: Writ): Promise<string> {
  const { id } = await writ.submit({ type: "exec", run: { kind: "exec", argv: ["echo", "hello"] } });
  const job: Job = await writ.wait(id);
  return job.status;
}
export const worker = new Worker({ url: "http://127.0.0.1:3000", token: "t" }).handle("greet", ({ params }) => params);
export const used = [defineJob, JobFailure, WritError, serveJobs, withSchema, list, register, openCage, SandboxUnavailable];
export const hub = new TestHub({ mode: "manual" }).handle(defineJob<{ a: number }, number>("add"), ({ params }) => params.a);
export const called = callHandler("add", () => 1, {}).then(({ logs }) => logs[0]?.length);
export type Server = JobServer;
// @ts-expect-error a state is one of six words
export const wrong: Job["status"] = "unknown";
`;

const submitProgram = `
import { type Accepted, type Job, Writ } from "writ/client";

const writ: Writ = Writ.fromEnvironment(process.env);
const { id }: Accepted = await writ.submit({ type: "exec", run: { kind: "exec", argv: ["true"] } });
const job: Job = await writ.wait(id);
writ.close();
console.log(job.status);
`;

const emulator = ["qemu-aarch64-static", "qemu-aarch64"].find(
  (name) => spawnSync("which", [name]).status === 0,
);

test(`the launcher for ARM64 starts${emulator === undefined ? " (not capable: no qemu-aarch64)" : ""}`, ({
  skip,
}) => {
  const launcher = join(installed.folder, "built/writ-launcher-linux-arm64");
  if (emulator === undefined || !existsSync(launcher)) return skip();
  // Without a worker it gets as far as its socket. An emulator of one program has no cages, so nothing more is tried.
  const { status, stderr } = spawnSync(emulator, [launcher], { encoding: "utf8" });
  expect([status, stderr]).toEqual([
    3,
    expect.stringContaining("descriptor 3 is not the socket of a worker"),
  ]);
});

// The oldest that is promised; `npm run test:long -- node-versions` has the others, and one that is too old.
describeNodeVersions(() => ({ installed, hub, worker }), [20], { isWhole: false });

describe("with the Node that it fetches", () => {
  beforeAll(() => addHubNode(installed));
  describeNewUser(() => installed);
});
