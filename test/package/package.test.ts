import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readImports } from "./import-graph.ts";
import {
  addHubNode,
  hostNode,
  type InstalledPackage,
  installPackage,
  pathWith,
} from "./installed-package.ts";
import { describeNewUser } from "./new-user.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const libraries = ["client", "worker", "jobs", "sandbox", "registry"];
let installed: InstalledPackage;

beforeAll(() => {
  installed = installPackage();
});
afterAll(() => installed.remove());

function manifest(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(installed.folder, "package.json"), "utf8"));
}

test("the package can be published, runs nothing when it is installed and depends on nothing but a Node", () => {
  expect(Object.keys(manifest()).sort()).toEqual([
    "bin",
    "description",
    "engines",
    "exports",
    "license",
    "name",
    "optionalDependencies",
    "sideEffects",
    "type",
    "version",
  ]);
  for (const name of Object.keys(manifest()["optionalDependencies"] as object))
    expect(name).toMatch(/^node-linux-/);
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
    expect(modules, entry).not.toContain("node:sqlite");
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

test("an older Node loads the client, writ/jobs and every command of jobctl but the job list", async () => {
  const PATH = pathWith(hostNode(), installed.app);
  const script = 'await import("writ/client"); await import("writ/jobs"); console.log("loaded")';
  const options = { cwd: installed.app, env: { PATH, HOME: installed.app } };
  expect((await run("node", ["--input-type=module", "-e", script], options)).stdout).toBe("loaded\n");
  const jobctl = join(installed.app, "node_modules/.bin/jobctl");
  const { stdout: help } = await run(jobctl, ["--help"], options);
  const commands = [...help.matchAll(/^ {2}([a-z]+) .*$/gm)].map(([, name]) => name!);
  expect(commands).toContain("run");
  for (const command of commands.filter((name) => name !== "registry" && name !== "help"))
    expect((await run(jobctl, [command, "--help"], options)).stdout).toContain(`jobctl ${command}`);
});

test("without the Node that it needs, a hub says so in one line", async () => {
  const node = hostNode();
  const major = Number(/^v(\d+)/.exec(execFileSync(node, ["--version"], { encoding: "utf8" }))?.[1]);
  const options = { cwd: installed.app, env: { PATH: pathWith(node, installed.app), HOME: installed.app } };
  const writ = join(installed.app, "node_modules/.bin/writ");
  if (major >= 26)
    return expect((await run(writ, ["up", "--help"], options)).stdout).toContain("Usage: writ up");
  await expect(run(writ, ["up"], options)).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^writ: writ up needs Node 26 or newer, and this is v\d+\.\d+\.\d+; .*\n$/),
  });
});

test.each(["node16", "bundler"])(
  "programs compile with --strict, and check our declarations, by %s",
  async (resolution) => {
    const folder = join(installed.app, `types-${resolution}`);
    mkdirSync(folder);
    const types = join(installed.app, "node_modules/@types");
    if (!existsSync(types)) symlinkSync(join(root, "node_modules/@types"), types);
    writeFileSync(join(folder, "program.ts"), program);
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
      [tsc, ...flags, "--moduleResolution", resolution, "program.ts"],
      {
        cwd: folder,
      },
    ).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
    expect(existsSync(join(folder, "program.js"))).toBe(true);
  },
);

const program = `
import { defineJob, type Job, JobFailure, Writ, WritError } from "writ/client";
import { type JobServer, serveJobs, withSchema } from "writ/jobs";
import { list, register } from "writ/registry";
import { openCage, SandboxUnavailable } from "writ/sandbox";
import { Worker } from "writ/worker";

export async function submit(writ: Writ): Promise<string> {
  const { id } = await writ.submit({ type: "exec", run: { kind: "exec", argv: ["echo", "hello"] } });
  const job: Job = await writ.wait(id);
  return job.status;
}
export const worker = new Worker({ url: "http://127.0.0.1:3000", token: "t" }).handle("greet", ({ params }) => params);
export const used = [defineJob, JobFailure, WritError, serveJobs, withSchema, list, register, openCage, SandboxUnavailable];
export type Server = JobServer;
// @ts-expect-error a state is one of six words
export const wrong: Job["status"] = "unknown";
`;

describe("with the Node that its optional dependencies bring", () => {
  beforeAll(() => addHubNode(installed));
  describeNewUser(() => installed);
});
