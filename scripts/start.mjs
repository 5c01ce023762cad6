import { spawn } from "node:child_process";
import { constants } from "node:os";
import { join } from "node:path";
import { root } from "./paths.mjs";
import { setup } from "./setup.mjs";

setup();
const child = spawn(join(root, "bin/writ"), ["up", ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, passOn(signal));
child.on("error", (error) => {
  console.error(`writ: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));

/**
 * writ drains at the first signal and stops at once at the second, so each signal must reach it exactly once.
 *
 * The child is in our process group on purpose: a kill -9 of the group leaves nothing behind. On a terminal the kernel
 * sends Ctrl-C and the hang-up to the whole group, so they are not passed on. npm also passes on the signals that it
 * receives, so the same signal again within a moment counts as one.
 */
function passOn(signal) {
  const sameActMs = 500;
  const comesFromTerminal = process.stdin.isTTY && signal !== "SIGTERM";
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    const isEcho = nowMs - lastMs < sameActMs;
    lastMs = nowMs;
    if (!comesFromTerminal && !isEcho) child.kill(signal);
  };
}
