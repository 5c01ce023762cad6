import { whyNotHere } from "./kernel-vm/host-kernel.mjs";
import { runKernelTests } from "./kernel-vm/run-kernel-tests.mjs";

/** Five times what all tests take beside everything else on two cores; a run that needs longer hangs. */
const timeLimitMs = 30 * 60 * 1000;

/**
 * Begins the kernel tests and returns what resolves to their counts. A machine keeps one processor busy for minutes, so
 * it runs beside whatever the caller does meanwhile, and its output is shown when the caller asks for the counts. On this
 * host's own kernel the tests count what the whole machine does: they begin when the counts are asked for.
 */
export function beginKernelTests({ isRequired }) {
  if (whyNotHere() === undefined) return () => kernelTests({ isRequired });
  const shown = [];
  const counting = kernelTests({ isRequired, show: (text) => shown.push(text) });
  return async () => {
    const counts = await counting;
    process.stdout.write(shown.join(""));
    return counts;
  };
}

/**
 * The tests that need a kernel with full cgroup v2. Where there is none they are reported as skipped; in CI, where one
 * can always be started, that is a failure.
 */
export async function kernelTests({
  isRequired,
  filters = [],
  nodeOptions = [],
  forceVm = false,
  show = (text) => process.stdout.write(text),
}) {
  const say = (line) => show(`── kernel: ${line}\n`);
  const counts = await runKernelTests({ filters, nodeOptions, forceVm, timeLimitMs, say, show });
  if (counts.notCapable === undefined) return counts;
  say(`not capable: ${counts.notCapable}`);
  return isRequired ? { ...counts, failed: counts.failed + 1 } : counts;
}
