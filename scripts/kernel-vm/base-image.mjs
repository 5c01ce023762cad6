import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pinnedNode, root } from "../paths.mjs";
import { cached } from "./cache.mjs";
import { makeEmptyImage, makeSparseFile, makeTreeImage } from "./ext4-image.mjs";
import { runCommand } from "./run-command.mjs";
import { sharedLibraries } from "./shared-libraries.mjs";

/** Where the checkout lies in the machine. */
export const guestRoot = "/writ";

// Room for a job that writes a gibibyte; the files are sparse, and what a run writes is thrown away with it.
const scratchMiB = 2048;
const swapMiB = 256;

/** Disks that change only with Node, busybox or the packages: the system, an empty one and one for swap. */
export function ensureBaseImages(tools, say) {
  const node = realpathSync(pinnedNode);
  const libraries = [...new Set([node, tools.busybox].flatMap(sharedLibraries))];
  const folder = cached("base", fingerprint([node, tools.busybox, ...libraries]), (dir) => {
    say("building the disks of the machine");
    const tree = join(dir, "tree");
    layTree(tree, { node, busybox: tools.busybox, libraries });
    makeTreeImage(tools.mke2fs, tree, join(dir, "base.ext4"));
    rmSync(tree, { recursive: true });
    makeEmptyImage(tools.mke2fs, join(dir, "scratch.ext4"), scratchMiB);
    makeSparseFile(join(dir, "swap.raw"), swapMiB);
  });
  return {
    base: join(folder, "base.ext4"),
    scratch: join(folder, "scratch.ext4"),
    swap: join(folder, "swap.raw"),
  };
}

/** Reading 150 MB of Node to hash it would take longer than all the rest, so size and time stand for content. */
function fingerprint(files) {
  const hash = createHash("sha256");
  for (const file of [fileURLToPath(import.meta.url), join(root, "package-lock.json")])
    hash.update(readFileSync(file));
  for (const file of files) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Laid out like a Debian with a merged /usr, since that is what a cage will find on most hosts. */
function layTree(tree, { node, busybox, libraries }) {
  for (const dir of [
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "etc",
    "proc",
    "sys",
    "dev",
    "run",
    "root",
    "mnt",
    "scratch",
  ]) {
    mkdirSync(join(tree, dir), { recursive: true });
  }
  for (const dir of ["tmp", "var/tmp"]) {
    mkdirSync(join(tree, dir), { recursive: true });
    chmodSync(join(tree, dir), 0o1777);
  }
  symlinkSync("bin", join(tree, "usr/sbin"));
  for (const dir of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${dir}`, join(tree, dir));

  for (const library of libraries) put(library, join(tree, library.replace(/^\/(?:usr\/)?/, "usr/")));
  put(node, join(tree, "usr/bin/node"));
  put(busybox, join(tree, "usr/bin/busybox"));
  for (const applet of runCommand(busybox, ["--list"]).trim().split("\n")) {
    if (applet !== "busybox") symlinkSync("busybox", join(tree, "usr/bin", basename(applet)));
  }
  layAccounts(join(tree, "etc"));
  layPackages(join(tree, guestRoot));
}

function layAccounts(etc) {
  writeFileSync(
    join(etc, "passwd"),
    "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
  );
  writeFileSync(join(etc, "group"), "root:x:0:\nnogroup:x:65534:\n");
  writeFileSync(join(etc, "hosts"), "127.0.0.1 localhost writ-kernel-test\n::1 localhost\n");
  writeFileSync(join(etc, "resolv.conf"), "");
  writeFileSync(join(etc, "nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files\n");
}

/** Only what Writ itself needs to run: the tools of development are large and the tests in the machine use none. */
function layPackages(checkout) {
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  for (const [path, { dev, optional }] of Object.entries(locked)) {
    if (path === "" || dev || optional || !existsSync(join(root, path))) continue;
    cpSync(join(root, path), join(checkout, path), { recursive: true });
  }
  for (const link of ["node_modules/.bin/node", "node_modules/.writ/node"]) {
    mkdirSync(dirname(join(checkout, link)), { recursive: true });
    symlinkSync("/usr/bin/node", join(checkout, link));
  }
}

function put(file, place) {
  mkdirSync(dirname(place), { recursive: true });
  copyFileSync(file, place);
  chmodSync(place, 0o755);
}
