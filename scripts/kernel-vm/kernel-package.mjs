import { readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cached, newestCached } from "./cache.mjs";
import { aptGet, findProgram } from "./host-tools.mjs";
import { NotCapable } from "./not-capable.mjs";
import { runCommand } from "./run-command.mjs";

/** The small kernel for virtual machines; this package only names the one that holds it. */
const metaPackage = "linux-image-cloud-amd64";

/** What the machine uses: its disks, its console and the file system of the cage. */
const usedModules = ["virtio_pci", "virtio_blk", "virtio_console", "overlay"];

/**
 * The kernel image and the modules to load. The package is unpacked and never installed: its scripts would
 * change the host's boot loader.
 */
export function ensureKernel(say) {
  const folder = findOrFetch(say);
  const image = readdirSync(join(folder, "boot")).find((name) => name.startsWith("vmlinuz-"));
  const release = image.slice("vmlinuz-".length);
  return { release, image: join(folder, "boot", image), modules: readModules(folder, release) };
}

function findOrFetch(say) {
  try {
    return fetchKernel(say);
  } catch {
    // A fresh container has no package lists, and old lists name versions that have left the mirror.
  }
  try {
    aptGet(["update"]);
    return fetchKernel(say);
  } catch (error) {
    // Without a network, yesterday's kernel proves as much.
    const kept = newestCached("kernel");
    if (kept === undefined) throw new NotCapable(`no kernel to boot: ${error.message}`);
    say(`${error.message}; using ${kept}`);
    return kept;
  }
}

function fetchKernel(say) {
  const { name, version } = candidate();
  return cached("kernel", `${name}_${version}`.replace(/[^\w.+-]/g, "_"), (dir) => {
    say(`fetching ${name} ${version}`);
    aptGet(["download", `${name}=${version}`], { cwd: dir });
    unpack(dir);
  });
}

function candidate() {
  if (findProgram("apt-cache") === undefined) throw new Error("there is no apt here to fetch it with");
  const name = /Depends: (linux-image-\d\S*)/.exec(runCommand("apt-cache", ["depends", metaPackage]))?.[1];
  const policy = name === undefined ? "" : runCommand("apt-cache", ["policy", name]);
  const version = /Candidate: (\d\S*)/.exec(policy)?.[1];
  if (version === undefined) throw new Error(`apt knows no ${name ?? metaPackage}`);
  return { name, version };
}

function unpack(dir) {
  const deb = readdirSync(dir).find((file) => file.endsWith(".deb"));
  const unpacked = join(dir, "unpacked");
  runCommand("dpkg", ["-x", join(dir, deb), unpacked]);
  for (const part of ["boot", "lib"]) renameSync(join(unpacked, part), join(dir, part));
  for (const rest of [deb, "unpacked"]) rmSync(join(dir, rest), { recursive: true });
}

/**
 * Each module behind those that it needs. The package has no modules.dep, that is made at installation, and what
 * needs what differs from kernel to kernel: every module names the ones that it needs itself.
 */
function readModules(folder, release) {
  const modulesDir = join(folder, "lib/modules", release);
  const files = readdirSync(modulesDir, { recursive: true });
  const builtIn = readFileSync(join(modulesDir, "modules.builtin"), "utf8");
  const loaded = new Map();
  const load = (name) => {
    // A file may be called virtio-rng.ko where other modules name it virtio_rng.
    const pattern = new RegExp(`/${name.replaceAll("_", "[-_]")}\\.ko`);
    const file = files.find((path) => pattern.test(path));
    if (file === undefined && !pattern.test(builtIn)) {
      throw new NotCapable(`kernel ${release} has no module ${name}`);
    }
    if (file === undefined || loaded.has(name)) return;
    const data = readModule(join(modulesDir, file));
    neededModules(data).forEach(load);
    loaded.set(name, { name: `${name}.ko`, data });
  };
  usedModules.forEach(load);
  return [...loaded.values()];
}

/** A module says what it needs as "depends=a,b" among its texts, which end with a NUL each. */
function neededModules(data) {
  const [, names = ""] = /\0depends=([^\0]*)\0/.exec(data.toString("latin1")) ?? [];
  return names.split(",").filter((name) => name !== "");
}

function readModule(path) {
  return path.endsWith(".xz") ? runCommand("xz", ["-dc", path], { encoding: "buffer" }) : readFileSync(path);
}
