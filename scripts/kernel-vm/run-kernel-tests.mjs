import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runPinned } from "../run-pinned.mjs";
import { ensureBaseImages, guestRoot } from "./base-image.mjs";
import { bootMachine } from "./boot-machine.mjs";
import { buildProbes } from "./build-probes.mjs";
import { makeWorkDir, pruneCache } from "./cache.mjs";
import { whyNotHere } from "./host-kernel.mjs";
import { ensureHostTools } from "./host-tools.mjs";
import { makeInitramfs } from "./initramfs.mjs";
import { ensureKernel } from "./kernel-package.mjs";
import { NotCapable } from "./not-capable.mjs";
import { makeProjectImage } from "./project-image.mjs";
import { countTap, findTestFiles, nodeTestArgs } from "./test-files.mjs";

/**
 * A machine that does not boot, or in which a test fails, is tried once more. Without hardware for it, an emulator runs code
 * that Node writes while it runs, and such a machine has hung or ended a Node by itself; what our code does wrong fails
 * again. A test that passes then is named at the end of the run.
 */
const machineTriesMax = 2;
/** The machine ends its tests a little before the host would end the machine, for the better message. */
const graceMs = 15_000;
const guestResults = "/tmp/results.tap";
const report = "test/kernel/report-capabilities.ts";

/**
 * Runs the tests of test/kernel/guest on a kernel with all of cgroup v2: this host's own when it has that, else
 * a machine's. Returns `{ passed, failed, skipped }`, with `notCapable` (why) when neither can be had here.
 */
export async function runKernelTests({
  filters = [],
  nodeOptions = [],
  forceVm = false,
  timeLimitMs,
  say,
  show,
}) {
  const files = findTestFiles(filters);
  if (files.length === 0) {
    say(`no file of test/kernel/guest matches ${filters.join(" ")}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const workDir = makeWorkDir();
  const clean = () => rmSync(workDir, { recursive: true, force: true });
  process.once("exit", clean);
  try {
    buildProbes(say);
    const obstacle = forceVm ? "the machine was asked for" : whyNotHere();
    if (obstacle === undefined) return await runHere({ files, nodeOptions, workDir, say });
    say(`not on this host's kernel: ${obstacle}`);
    return await runInMachine({ files, nodeOptions, workDir, timeLimitMs, say, show });
  } catch (error) {
    if (error instanceof NotCapable) return await giveUp(files, error.message);
    console.error(error);
    return { passed: 0, failed: 1, skipped: 0 };
  } finally {
    clean();
    process.removeListener("exit", clean);
  }
}

/** Shows what this host does have, so that the reader sees what is left unproved. */
async function giveUp(files, notCapable) {
  await runPinned([report]);
  return { passed: 0, failed: 0, skipped: files.length, notCapable };
}

async function runHere({ files, nodeOptions, workDir, say }) {
  say("on this host's kernel");
  const results = join(workDir, "results");
  await runPinned([report]);
  const status = await runPinned(nodeTestArgs(files, nodeOptions, results));
  const tap = existsSync(results) ? readFileSync(results, "utf8") : "";
  return judge({ files, nodeOptions, status, tap }, say);
}

async function runInMachine({ files, nodeOptions, workDir, timeLimitMs, say, show }) {
  const tools = ensureHostTools(say);
  const kernel = ensureKernel(say);
  const images = ensureBaseImages(tools, say);
  pruneCache(["kernel", "base"]);
  const command = guestCommand(nodeTestArgs(files, nodeOptions, guestResults), timeLimitMs - graceMs);
  const project = makeProjectImage(tools.mke2fs, command, workDir);
  const settings = {
    qemu: tools.qemu,
    kernel,
    initramfs: makeInitramfs(kernel, tools.busybox),
    disks: { ...images, project },
    workDir,
    timeLimitMs,
    onOutput: (data) => show(String(data)),
    onBoot: (takenMs) => say(`booted in ${seconds(takenMs)}`),
  };

  const unsteady = [];
  for (let tries = 1; ; tries += 1) {
    say(`booting Linux ${kernel.release}, emulated`);
    const startMs = performance.now();
    const end = await bootMachine(settings);
    const afterMs = performance.now() - startMs;
    say(
      end.failure === undefined
        ? `powered off after ${seconds(afterMs)}`
        : `the machine failed: ${end.failure}`,
    );
    const counts =
      end.failure === undefined
        ? judge({ files, nodeOptions, status: end.status, tap: end.results }, say)
        : { passed: 0, failed: 1, skipped: 0 };
    if (counts.failed === 0) return { ...counts, unsteady };
    if (tries === machineTriesMax) return counts;
    unsteady.push(...failuresIn(end));
    say("once more, in a new machine");
  }
}

/** What failed in a machine, in words for the end of the run. */
function failuresIn({ failure, booted, results }) {
  if (failure !== undefined) return booted ? ["the machine of the kernel tests, which did not end"] : [];
  return [...results.matchAll(/^not ok \d+ - (.*)$/gm)].map(([, name]) => `test/kernel: ${name}`);
}

function guestCommand(args, limitMs) {
  const quoted = args.map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(" ");
  return [
    "export PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 KERNEL_TEST_SCRATCH=/scratch",
    `cd ${guestRoot}`,
    `node ${report} || exit 1`,
    `timeout -s KILL ${Math.ceil(limitMs / 1000)} node ${quoted}`,
    "status=$?",
    // Not by node itself: it ends such a file with fsync, and the port refuses that.
    `cat ${guestResults} >/dev/vm-results`,
    "exit $status",
    "",
  ].join("\n");
}

/** A run that ended badly, or in which nothing was tested, must not look like success. */
function judge({ files, nodeOptions, status, tap }, say) {
  const { hollow, ...counts } = countTap(tap, files) ?? { passed: 0, failed: 0, skipped: 0, hollow: [] };
  // With an option such as --test-name-pattern a file may rightly have nothing to run.
  if (nodeOptions.length === 0) {
    for (const file of hollow) say(`${file} holds no test`);
    counts.failed += hollow.length;
  }
  if (counts.failed > 0 || (status === 0 && counts.passed + counts.skipped > 0)) return counts;
  const timedOut = status === 137 ? " (killed, or out of time)" : "";
  say(status === 0 ? "no test ran" : `the tests ended with status ${status}${timedOut}`);
  return { ...counts, failed: 1 };
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}
