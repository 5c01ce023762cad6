import { rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { makeWorkDir } from "../kernel-vm/cache.mjs";
import { ensureHostTools } from "../kernel-vm/host-tools.mjs";
import { ensureKernel } from "../kernel-vm/kernel-package.mjs";
import { NotCapable, notCapableStatus } from "../kernel-vm/not-capable.mjs";
import { runCommand } from "../kernel-vm/run-command.mjs";
import { pinnedNode, root } from "../paths.mjs";
import { bootUntil } from "./boot.mjs";
import { ensureDebianRoot } from "./debian-root.mjs";
import { makeDisk } from "./make-disk.mjs";
import { nextVersion } from "./next-version.mjs";

// Installs the package as services in an emulated machine with systemd, kills them, cuts the power, boots again and installs the
// next version.
// Prints one line for each thing that was looked at, which begins with "ok" or "FAILED"; test/long/services.test.ts reads
// them. Exit status 77 means that this host cannot do it. Why: ADR 0078.
const say = (line) => process.stderr.write(`writ: ${line}\n`);
const workDir = makeWorkDir();
process.once("exit", () => rmSync(workDir, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => process.exit(128 + constants.signals[signal]));

try {
  const { qemu, mke2fs } = ensureHostTools(say);
  const kernel = ensureKernel(say);
  const debian = ensureDebianRoot(say);
  say("making the package, the next version of it, and the disk");
  const script = join(root, "scripts/pack/make-package.mjs");
  const pack = (...version) => runCommand(pinnedNode, [script, workDir, ...version]).trim();
  const disk = makeDisk({ mke2fs, debian, tarball: pack(), next: pack(nextVersion), workDir });
  const onLine = (line) => process.stdout.write(`${line}\n`);
  const machine = { qemu, kernel, disk, workDir, onLine };
  if (await bootUntil("cut the power", machine)) await bootUntil("end", machine);
} catch (error) {
  if (!(error instanceof NotCapable)) throw error;
  say(`not capable: ${error.message}`);
  process.exitCode = notCapableStatus;
}
