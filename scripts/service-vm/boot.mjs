import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../kernel-vm/host-tools.mjs";

/** Only what hangs meets it: a phase takes five minutes, and three times that beside a dozen other programs. */
const phaseMsMax = 60 * 60_000;
const lookMs = 200;

/**
 * Boots the disk and hands on what the scenario reports, until it says that it is at `lastLine`; then the power is cut: qemu is
 * killed, and whatever the machine had not written to its disk is gone. False if something failed before.
 */
export async function bootUntil(lastLine, { qemu, kernel, disk, workDir, onLine }) {
  const serial = join(workDir, "serial");
  writeFileSync(serial, "");
  const setpriv = findProgram("setpriv");
  const words = [
    ...(setpriv ? [setpriv, "--pdeathsig", "KILL"] : []),
    qemu,
    ...qemuArgs({ kernel, disk, serial }),
  ];
  const machine = spawn(words[0], words.slice(1), { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise((resolve) => machine.once("close", resolve));
  const deadline = performance.now() + phaseMsMax;
  try {
    for (let seen = 0; ; ) {
      const lines = readFileSync(serial, "latin1").split(/\r?\n/).slice(0, -1);
      for (const line of lines.slice(seen)) {
        if (line.startsWith("SCENARIO ")) onLine(line.slice("SCENARIO ".length));
        if (line === `SCENARIO ${lastLine}`) return true;
        if (line.startsWith("SCENARIO FAILED")) return false;
      }
      seen = lines.length;
      const isOver = machine.exitCode !== null || machine.signalCode !== null;
      if (isOver || performance.now() > deadline)
        throw new Error(`the machine ${isOver ? "ended" : "took too long"}:\n${lines.slice(-30).join("\n")}`);
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  } finally {
    machine.kill("SIGKILL");
    await ended;
  }
}

/** As for the kernel tests (`boot-machine.mjs` says why), but with a disk that is kept; the kernel has NVMe built in. */
function qemuArgs({ kernel, disk, serial }) {
  const quoted = (path) => path.replaceAll(",", ",,");
  return [
    ["-accel", "tcg,thread=single", "-cpu", "max", "-smp", "2", "-m", "1536"],
    ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ["-serial", `file:${quoted(serial)}`],
    ["-kernel", kernel.image],
    [
      "-append",
      "console=ttyS0 quiet loglevel=1 panic=-1 root=/dev/nvme0n1 rw rootfstype=ext4 init=/lib/systemd/systemd",
    ],
    ["-drive", `file=${quoted(disk)},format=raw,if=none,id=disk,cache=writeback`],
    ["-device", "nvme,drive=disk,serial=disk"],
  ].flat();
}
