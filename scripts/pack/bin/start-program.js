import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// Starts a program of the package. This file and those that import it run on any Node that knows ES modules, so that
// one that is too old gets a sentence.
const nodeMin = 20;
const hubNodeMin = 26;
const root = fileURLToPath(new URL("..", import.meta.url));
const major = Number(process.versions.node.split(".")[0]);

/** On this Node, or on the Node 26 that was installed with the package if the program needs that one. */
export async function startProgram(name) {
  if (major < nodeMin)
    return refuse(name, `Node ${nodeMin} or newer is needed, and this is ${process.version}`);
  const node = needsHubNode(name) && major < hubNodeMin ? findHubNode() : undefined;
  if (node !== undefined) return startOn(node, name);
  await compileLauncher(name);
  await import(`../lib/program-${name}.js`);
}

/** jobctl runs on any Node, except for its job list in a file, which needs Node's own SQLite. */
function needsHubNode(name) {
  return name !== "jobctl" || process.argv[2] === "registry";
}

/** npm has installed it beside us, unless optional dependencies were left out or it does not run on this platform. */
function findHubNode() {
  try {
    const name = `node-${process.platform}-${process.arch}`;
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    const file = join(dirname(realpathSync(manifest)), "bin", "node");
    return existsSync(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

function startOn(node, name) {
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    // A terminal sends these to the child as well, and a second signal would make it stop at once.
    process.on(signal, () => {
      if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on("error", (error) => refuse(name, `${node} does not run here (${error.message})`));
  child.on("exit", (code, signal) => {
    // What the system's loader answers when a library is missing; it has said which.
    if (code === 127)
      refuse(name, "the Node in the package needs libatomic.so.1 (Debian: apt-get install libatomic1)");
    process.exit(code === null ? 128 + constants.signals[signal] : code);
  });
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
