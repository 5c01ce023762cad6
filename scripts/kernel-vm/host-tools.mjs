import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { NotCapable } from "./not-capable.mjs";
import { runCommand } from "./run-command.mjs";

const packages = { qemu: "qemu-system-x86", busybox: "busybox-static", mke2fs: "e2fsprogs" };
const programs = { qemu: "qemu-system-x86_64", busybox: "busybox", mke2fs: "mke2fs" };

/** The paths of the programs that make and run the machine; installs what is missing when it may. */
export function ensureHostTools(say) {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new NotCapable(
      `the machine is made for Linux on x86-64, this is ${process.platform} ${process.arch}`,
    );
  }
  const missing = Object.keys(programs).filter((tool) => findProgram(programs[tool]) === undefined);
  if (missing.length > 0) install(missing, say);
  return Object.fromEntries(Object.entries(programs).map(([tool, program]) => [tool, findProgram(program)]));
}

export function findProgram(name) {
  // Plain users often have no sbin on their PATH, and mke2fs needs no privilege.
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Other package managers may be at work (a second run of this, too), so apt waits for its lock. */
export function aptGet(args, options = {}) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
  return runCommand("apt-get", ["-q", "-o", "DPkg::Lock::Timeout=180", ...args], { env, ...options });
}

function install(missing, say) {
  const names = missing.map((tool) => packages[tool]);
  const wanted = `${missing.map((tool) => programs[tool]).join(", ")} missing`;
  const advice = `apt-get install --no-install-recommends ${names.join(" ")}`;
  if (findProgram("apt-get") === undefined) throw new NotCapable(`${wanted}, and there is no apt-get here`);
  if (process.getuid() !== 0) throw new NotCapable(`${wanted}; root can have them with: ${advice}`);

  say(`installing ${names.join(", ")}`);
  const args = ["install", "-y", "--no-install-recommends", ...names];
  try {
    aptGet(args);
  } catch {
    // A fresh container has no package lists, and old lists name files that have left the mirror.
    try {
      aptGet(["update"]);
      aptGet(args);
    } catch (error) {
      throw new NotCapable(`${wanted}, and they could not be installed: ${error.message}`);
    }
  }
  const still = missing.filter((tool) => findProgram(programs[tool]) === undefined);
  if (still.length > 0) throw new NotCapable(`${names.join(", ")} installed, but not ${still.join(", ")}`);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // It does not exist there, or is no program.
    return false;
  }
}
