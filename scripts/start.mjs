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
 * writ drains at the first signal and stops at once at the second, so each must reach it exactly once.
 *
 * The child shares our process group on purpose: a kill -9 of the group leaves nothing behind. With a terminal,
 * the kernel has already given Ctrl-C and the hang-up to the whole group, and ours is not passed on. npm also
 * repeats to us what it hears, so the same signal again within a moment is the same act.
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
