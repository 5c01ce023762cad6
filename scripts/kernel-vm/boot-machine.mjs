import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "./host-tools.mjs";

// Two seconds on an idle host; the rest is for a host with everything else running on it.
const bootLimitMs = 300_000;
const lookMs = 250;
const serialLinesShown = 15;

/**
 * Boots the machine, hands its output on as it comes, and returns when it has powered off: `{ status, results }` when
 * it said how its command ended, or `{ failure, booted }` when anything else happened. The exit code of qemu means
 * nothing: it is 0 after a kernel panic too.
 */
export async function bootMachine({
  qemu,
  kernel,
  initramfs,
  disks,
  workDir,
  timeLimitMs,
  onOutput,
  onBoot,
}) {
  const files = Object.fromEntries(
    ["initramfs", "serial", "status", "results"].map((name) => [name, join(workDir, name)]),
  );
  writeFileSync(files.initramfs, initramfs);
  for (const name of ["serial", "status", "results"]) writeFileSync(files[name], "");

  const machine = startQemu(qemu, qemuArgs({ kernel, disks, files }));
  let complaint = "";
  machine.stdout.on("data", onOutput);
  machine.stderr.on("data", (data) => {
    complaint = `${complaint}${data}`.slice(-2000);
  });
  const ended = new Promise((resolve) => {
    machine.on("error", (error) => resolve(error.message));
    machine.on("close", () => resolve(undefined));
  });
  const watch = watchLimits({ machine, serial: files.serial, timeLimitMs, onBoot });
  const spawnFailure = await ended;
  const { booted, overrun } = watch.stop();

  const status = /^exit (\d+)\n$/.exec(readFileSync(files.status, "utf8"))?.[1];
  if (overrun === undefined && status !== undefined) {
    return { status: Number(status), results: readFileSync(files.results, "utf8") };
  }
  const cause = spawnFailure ?? overrun ?? "it ended without saying how its command ended";
  return { booted, failure: [cause, complaint.trim(), tail(files.serial)].filter(Boolean).join("\n") };
}

/** Software emulation on purpose: /dev/kvm is absent or hangs where machines are nested, and this is fast enough. */
function qemuArgs({ kernel, disks, files }) {
  return [
    // One thread for both CPUs. With one for each, a Node in the machine died of SIGTRAP in one run of about twenty: the
    // emulator has to notice code that another CPU is writing just then, and Node writes its own all the time.
    ["-accel", "tcg,thread=single"],
    // "max" has rdrand; without it Node waits a second for the kernel to have enough randomness.
    ["-cpu", "max"],
    // Two CPUs, so that limits of more and of less than one can both be distinguished from no limit.
    ["-smp", "2", "-m", "1024"],
    ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ["-serial", `file:${files.serial}`],
    ["-kernel", kernel.image, "-initrd", files.initramfs],
    ["-append", "console=ttyS0 quiet loglevel=1 panic=-1 oops=panic"],
    disk("base", disks.base, "readonly=on"),
    disk("project", disks.project, "readonly=on"),
    disk("scratch", disks.scratch, "snapshot=on,cache=unsafe"),
    disk("swap", disks.swap, "snapshot=on,cache=unsafe"),
    ["-device", "virtio-serial-pci"],
    port("output", "stdio,signal=off"),
    port("status", `file,path=${doubleCommas(files.status)}`),
    port("results", `file,path=${doubleCommas(files.results)}`),
  ].flat();
}

function disk(name, file, options) {
  const drive = `file=${doubleCommas(file)},format=raw,if=none,id=${name},${options}`;
  return ["-drive", drive, "-device", `virtio-blk-pci,drive=${name},serial=${name}`];
}

function port(name, backend) {
  const [kind, ...options] = backend.split(",");
  const chardev = [kind, `id=${name}`, ...options].join(",");
  return ["-chardev", chardev, "-device", `virtserialport,chardev=${name},name=${name}`];
}

/** In the options of qemu a comma ends a value, and two are one. */
function doubleCommas(path) {
  return path.replaceAll(",", ",,");
}

/** When this process dies, by kill -9 even, the kernel ends the machine with it. */
function startQemu(qemu, args) {
  const setpriv = findProgram("setpriv");
  const [program, ...rest] =
    setpriv === undefined ? [qemu, ...args] : [setpriv, "--pdeathsig", "KILL", qemu, ...args];
  // stdin is a pipe that is never closed: at its end qemu would call the port disconnected and the machine would
  // wait for ever to write.
  const machine = spawn(program, rest, { stdio: ["pipe", "pipe", "pipe"] });
  const end = () => machine.kill("SIGKILL");
  process.once("exit", end);
  machine.once("close", () => process.removeListener("exit", end));
  return machine;
}

function watchLimits({ machine, serial, timeLimitMs, onBoot }) {
  const startMs = performance.now();
  let booted = false;
  let overrun;
  const timer = setInterval(() => {
    const takenMs = performance.now() - startMs;
    if (!booted && existsSync(serial) && readFileSync(serial, "latin1").includes("VMINIT OK")) {
      booted = true;
      onBoot(takenMs);
    }
    const limitMs = booted ? timeLimitMs : bootLimitMs;
    if (takenMs < limitMs || overrun !== undefined) return;
    overrun = booted
      ? `it was not done after ${limitMs / 1000} s`
      : `it had not booted after ${limitMs / 1000} s`;
    machine.kill("SIGKILL");
  }, lookMs);
  return {
    stop() {
      clearInterval(timer);
      booted ||= readFileSync(serial, "latin1").includes("VMINIT OK");
      return { booted, overrun };
    },
  };
}

function tail(serial) {
  // The firmware draws with escape codes; they would clear the reader's terminal.
  const text = readFileSync(serial, "latin1").replace(/\x1b\[[0-9;=?]*[A-Za-z]|\x1bc|\r/g, "");
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return "its console stayed empty";
  const last = lines.slice(-serialLinesShown);
  // The reason stands before a page of registers and stack.
  const reasons = lines.filter(
    (line) => /VMINIT FAIL|Kernel panic|^\S*\s*BUG:/.test(line) && !last.includes(line),
  );
  return ["its console ended with:", ...reasons.slice(0, serialLinesShown), ...last].join("\n");
}
