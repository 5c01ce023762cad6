// Makes docs/images/session.svg, the picture in the README: runs a hub and the commands below, and draws what they print.
//
//   npm run setup && node docs/images/make-session.mjs
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { drawTerminal } from "./draw-terminal.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "writ-session-"));
// The colours need a terminal, and no setting of the person who runs this may show.
const env = { PATH: process.env.PATH, WRIT_HOME: home, NODE_ID: "builder-1", TERM: "xterm" };
const commandMs = 60_000;

const hub = spawn(join(root, "bin/writ"), ["up", "--port", "0", "--grpc-port", "0"], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  await once(hub.stdout, "data", { signal: AbortSignal.timeout(commandMs) });
  writeFileSync(join(root, "docs/images/session.svg"), drawTerminal(recordSession()));
} finally {
  const exited = hub.exitCode === null ? once(hub, "exit") : undefined;
  hub.kill("SIGTERM");
  await exited;
  rmSync(home, { recursive: true, force: true });
}

/** Each command with what it printed. A job is named by the end of its id, as tables show it. */
function recordSession() {
  const session = [];
  const show = (command) => {
    const output = runInTerminal(command);
    session.push({ command, output });
    return output.trim().slice(-8);
  };
  show("bin/jobctl run sh -c 'echo resizing 20 images; sleep 1; echo done'");
  const sleeping = show("bin/jobctl start sleep 600 --mem=256M --network=none");
  const waiting = show("bin/jobctl start --tag gpu python3 train.py");
  waitUntilRunning(sleeping);
  show("bin/jobctl list");
  show(`bin/jobctl why ${waiting}`);
  show(`bin/jobctl stop ${sleeping}`);
  show(`bin/jobctl verify ${sleeping}`);
  return session;
}

/** `script` gives the command a terminal; without one it would print no colours. */
function runInTerminal(command) {
  const args = ["--quiet", "--return", "--command", command, "/dev/null"];
  const result = spawnSync("script", args, { cwd: root, env, encoding: "utf8", timeout: commandMs });
  if (result.error) throw new Error(`script(1) of util-linux is needed: ${result.error.message}`);
  if (result.status !== 0) throw new Error(`${command} exited with ${result.status}: ${result.stdout}`);
  return result.stdout.replaceAll("\r\n", "\n");
}

function waitUntilRunning(id) {
  const deadline = performance.now() + commandMs;
  while (performance.now() < deadline) {
    if (/"state":"RUNNING"/.test(runInTerminal(`bin/jobctl status ${id} --json`))) return;
  }
  throw new Error(`job ${id} did not start within ${commandMs} ms`);
}
