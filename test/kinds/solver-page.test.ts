import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { readBlock, root } from "../docs/page.ts";
import { eventually } from "../support/eventually.ts";
import { removeHome } from "../support/remove-home.ts";

const dir = mkdtempSync(join(tmpdir(), "writ-page-"));
const home = mkdtempSync(join(tmpdir(), "writ-page-home-"));
const env = { PATH: process.env["PATH"], WRIT_HOME: home, PYTHONUNBUFFERED: "1" };
const started: ChildProcess[] = [];

afterAll(async () => {
  for (const child of started.reverse()) {
    const exited = new Promise((resolve) => child.once("exit", resolve));
    if (child.kill("SIGTERM")) await exited;
  }
  rmSync(dir, { recursive: true, force: true });
  removeHome(home);
});

/** The commands of a block, as they stand in the page except the folder of the checkout and the fixed ports. */
function commands(block: string, port: number): string {
  const [, code = ""] = /```sh\n([\s\S]*?)```/.exec(readBlock("docs/solvers.md", block)) ?? [];
  return code
    .replaceAll("bin/jobctl", `${root}/bin/jobctl`)
    .replaceAll("npm start", `${root}/bin/writ up --port 0 --grpc-port 0`)
    .replaceAll("8000", String(port));
}

/** Leaves a program of the page running; resolves when it has written what it is ready by. */
async function keepRunning(block: string, port: number, ready: RegExp): Promise<RegExpExecArray> {
  const child = spawn("bash", ["-c", commands(block, port).replace(/(\S+ (?:-m|up))/, "exec $1")], {
    cwd: dir,
    env,
  });
  started.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  return eventually(`the page's ${block} is ready`, () => ready.exec(output));
}

test("the commands of docs/solvers.md do what the page says", async () => {
  const run = (block: string, port: number) =>
    promisify(execFile)("bash", ["-ec", commands(block, port)], { cwd: dir, env });
  await run("program", 0);
  expect(existsSync(join(dir, "solvers/add"))).toBe(true);
  const [, port] = await keepRunning("publish", 0, /port (\d+)/);
  await keepRunning("start", Number(port), /./);
  await eventually("the hub listens", () => existsSync(join(home, "hub.json")));
  const { stdout } = await run("submit", Number(port));
  expect(JSON.parse(stdout)).toEqual({ sum: 5 });
  const log = "worker/logs/worker.log";
  expect(readFileSync(join(home, log), "utf8")).toContain("solver downloaded");
  for (const page of ["troubleshooting", "operations"])
    expect(readFileSync(join(root, `docs/${page}.md`), "utf8")).toContain(`\`${log}\``);
});
