import { runKernelTests } from "./kernel-vm/run-kernel-tests.mjs";

/** Ten times what all tests take on two busy cores; a run that needs longer hangs. */
const timeLimitMs = 15 * 60 * 1000;

/**
 * The tests that need a kernel with full cgroup v2. Where there is none they are reported as skipped; in CI, where one
 * can always be started, that is a failure.
 */
export async function kernelTests({ isRequired, filters = [], nodeOptions = [], forceVm = false }) {
  const counts = await runKernelTests({ filters, nodeOptions, forceVm, timeLimitMs, say });
  if (counts.notCapable === undefined) return counts;
  say(`not capable: ${counts.notCapable}`);
  return isRequired ? { ...counts, failed: counts.failed + 1 } : counts;
}

export function say(line) {
  console.log(`── kernel: ${line}`);
}
