import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cached } from "../kernel-vm/cache.mjs";
import { findProgram } from "../kernel-vm/host-tools.mjs";
import { NotCapable } from "../kernel-vm/not-capable.mjs";
import { runCommand } from "../kernel-vm/run-command.mjs";

/** Debian's base with systemd as the first process, and the one library that Node 26 needs beside it. */
const packages = ["systemd", "systemd-sysv", "dbus", "libatomic1"];
const makeMs = 600_000;

/** The archive of a Debian of the same release as this host's. */
export function ensureDebianRoot(say) {
  if (process.getuid() !== 0) throw new NotCapable("only root can make the files of a Debian");
  const mmdebstrap = findProgram("mmdebstrap");
  if (mmdebstrap === undefined) throw new NotCapable("no mmdebstrap; root can have it with apt-get install");
  const suite = /^VERSION_CODENAME=(\w+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "stable";
  const sources = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"].filter(existsSync);
  const key = createHash("sha256")
    .update([suite, ...packages].join())
    .digest("hex")
    .slice(0, 16);
  const folder = cached("debian", key, (dir) => {
    say(`fetching a Debian ${suite} with systemd`);
    const options = ["--quiet", "--variant=minbase", `--include=${packages.join(",")}`];
    try {
      const words = [...options, suite, join(dir, "root.tar"), ...sources.slice(0, 1)];
      runCommand(mmdebstrap, words, { timeout: makeMs });
    } catch (error) {
      throw new NotCapable(`a Debian could not be made: ${error.message}`);
    }
  });
  return join(folder, "root.tar");
}
