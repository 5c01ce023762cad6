import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const controllers = ["cpu", "memory", "io", "pids"];
const mountPoint = "/sys/fs/cgroup";

/**
 * Why the tests cannot run on this kernel directly, or undefined when they can. Only a try shows it: in a container the
 * controllers may be listed and still not be given to a child.
 */
export function whyNotHere() {
  if (process.platform !== "linux") return `this is ${process.platform}`;
  if (process.getuid() !== 0) return "we are not root";
  if (!existsSync(join(mountPoint, "cgroup.controllers"))) return `${mountPoint} is not cgroup v2`;
  const offered = words(join(mountPoint, "cgroup.controllers"));
  const missing = controllers.filter((controller) => !offered.includes(controller));
  if (missing.length > 0) return `cgroup v2 lacks ${missing.join(", ")}`;
  return whyNoChild();
}

function whyNoChild() {
  const child = join(mountPoint, `writ-kernel-test-${process.pid}`);
  try {
    // As systemd does it itself for the first unit that asks for a controller.
    writeFileSync(
      join(mountPoint, "cgroup.subtree_control"),
      controllers.map((name) => `+${name}`).join(" "),
    );
    mkdirSync(child);
  } catch (error) {
    return `cgroups cannot be made here: ${error.message}`;
  }
  try {
    const files = ["cpu.max", "memory.max", "io.max", "pids.max", "cgroup.kill"];
    const absent = files.filter((file) => !existsSync(join(child, file)));
    return absent.length > 0 ? `a child cgroup has no ${absent.join(", ")}` : undefined;
  } finally {
    rmdirSync(child);
  }
}

function words(file) {
  return readFileSync(file, "utf8").trim().split(/\s+/);
}
