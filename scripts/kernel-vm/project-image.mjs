import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { root, stateDir } from "../paths.mjs";
import { guestRoot } from "./base-image.mjs";
import { makeTreeImage } from "./ext4-image.mjs";
import { sharedLibraries } from "./shared-libraries.mjs";

const sources = ["package.json", "bin", "src", "test", "examples", "launcher"];
/** Of what set-up and the tests leave in node_modules/.writ, all but these was built to be run. */
const notBuilt = ["kernel-vm", "node", "stamp", "debians"];

/** The disk with what changes from run to run. It is small and made anew each time, so it is never stale. */
export function makeProjectImage(mke2fs, command, workDir) {
  const tree = join(workDir, "project");
  const checkout = join(tree, guestRoot);
  mkdirSync(checkout, { recursive: true });
  for (const name of sources.filter((source) => existsSync(join(root, source)))) {
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  }
  layBuilt(tree, checkout);
  writeFileSync(join(tree, "run-tests"), command);

  const image = join(workDir, "project.ext4");
  makeTreeImage(mke2fs, tree, image);
  rmSync(tree, { recursive: true });
  return image;
}

/** Programs come with the libraries that they are loaded with, so they need not be static. */
function layBuilt(tree, checkout) {
  const place = join(checkout, "node_modules/.writ");
  mkdirSync(place, { recursive: true });
  for (const name of readdirSync(stateDir)) {
    if (notBuilt.includes(name) || name.endsWith(".json")) continue;
    cpSync(join(stateDir, name), join(place, name), { recursive: true });
  }
  const programs = readdirSync(place, { recursive: true })
    .map((name) => join(place, name))
    .filter(isProgram);
  for (const library of new Set(programs.flatMap(sharedLibraries))) {
    const copy = join(tree, library.replace(/^\/(?:usr\/)?/, "usr/"));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(library, copy);
  }
}

function isProgram(path) {
  const stat = lstatSync(path);
  return stat.isFile() && (stat.mode & 0o111) !== 0;
}
