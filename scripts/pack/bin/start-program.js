import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fetchHubNode, findEarlierHubNode, findHubNode, hubNodeMajor, needsHubNode } from "./hub-node.js";

// Starts a program of the package. This file and those that import it run on any Node that knows ES modules, so that
// one that is too old gets a sentence.
const nodeMin = 20;
const root = fileURLToPath(new URL("..", import.meta.url));
const major = Number(process.versions.node.split(".")[0]);

/** On this Node, or on a Node 26 if the program needs that one. */
export async function startProgram(name) {
  if (major < nodeMin)
    return refuse(name, `Node ${nodeMin} or newer is needed, and this is ${process.version}`);
  const args = process.argv.slice(2);
  // Elsewhere the program itself says what it needs.
  const isElsewhere = process.platform !== "linux";
  if (major >= hubNodeMajor || isElsewhere || !needsHubNode(name, args)) return runHere(name);
  const found = findHubNode() ?? fetchHubNode((line) => process.stderr.write(`${name}: ${line}\n`));
  const node = found instanceof Error ? findEarlierHubNode() : found;
  if (node === undefined)
    return refuse(
      name,
      `Node ${hubNodeMajor} is needed, and this is ${process.version}: ${found.message}; install it, or try again`,
    );
  startOn(node, name);
}

async function runHere(name) {
  await compileLauncher(name);
  await import(`../lib/program-${name}.js`);
}

function startOn(node, name) {
  const obstacle = whyNotRunnable(node);
  if (obstacle !== undefined) return refuse(name, obstacle);
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    // A terminal sends these to the child as well, and a second signal would make it stop at once.
    process.on(signal, () => {
      if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on("error", (error) => refuse(name, `${node} does not run here (${error.message})`));
  child.on("exit", (code, signal) => {
    process.exit(code === null ? 128 + constants.signals[signal] : code);
  });
}

/** Tried before the start, because the complaint of the system's loader would come out as it is. */
function whyNotRunnable(node) {
  const { status, error, stderr } = spawnSync(node, ["--version"], { encoding: "utf8" });
  if (status === 0) return undefined;
  const complaint = error?.message ?? stderr.trim().split("\n")[0];
  if (complaint.includes("libatomic.so.1"))
    return "the Node that was fetched needs libatomic.so.1 (Debian: apt-get install libatomic1)";
  return `${node} does not run here (${complaint})`;
}

/** A package that was packed without a cross compiler has no launcher for this processor; it is compiled once. */
async function compileLauncher(name) {
  const isWorker = name === "writ" && ["up", "worker"].includes(process.argv[2]);
  const outFile = join(root, `built/writ-launcher-${process.platform}-${process.arch}`);
  if (!isWorker || process.platform !== "linux" || existsSync(outFile)) return;
  const { buildLauncher } = await import("../launcher/build.mjs");
  try {
    buildLauncher({ root, outFile });
  } catch (error) {
    process.stderr.write(`writ: the launcher could not be compiled (${error.message.split("\n")[0]})\n`);
  }
}

function refuse(name, why) {
  process.stderr.write(`${name}: ${why}\n`);
  process.exit(1);
}
