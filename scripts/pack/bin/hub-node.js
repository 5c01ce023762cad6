import { spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// The Node that hub and worker run on where the one that npm uses is older. It is no dependency of the package: npm would
// put its `node` first on the PATH of everything in the folder that the package is installed into.
// Why: ADR 0068, ADR 0101.
const { version, integrity, commands } = JSON.parse(
  readFileSync(new URL("hub-node.json", import.meta.url), "utf8"),
);
export const hubNodeMajor = Number(version.split(".")[0]);
const packageName = `node-${process.platform}-${process.arch}`;
const folderName = `${packageName}-${version}`;
const packageFolder = realpathSync(fileURLToPath(new URL("..", import.meta.url)));

/**
 * Whether a program needs that Node for these arguments. The programs themselves say so of each command; options come first.
 * Any Node shows help, and the version.
 */
export function needsHubNode(program, args) {
  const end = args.indexOf("--");
  const own = end === -1 ? args : args.slice(0, end);
  if (own.some((word) => ["--help", "-h", "--version"].includes(word))) return false;
  const known = commands[program];
  // All commands of such a program need it.
  if (known === undefined) return own.some((word) => !word.startsWith("-")) && own[0] !== "help";
  const at = own.findIndex((word) => word === "help" || Object.hasOwn(known, word));
  if (at === -1 || own[at] === "help" || own[at + 1] === "help") return false;
  return known[own[at]];
}

/** One that is there: it was fetched before, or the person has one on the PATH. */
export function findHubNode() {
  const place = places().find((one) => existsSync(nodeIn(one)));
  if (place !== undefined) return leadTo(place);
  return nodesOnPath().find((file) => existsSync(file) && majorOf(file) >= hubNodeMajor);
}

/** One that an earlier version of the package has fetched and that this one can run on, for a machine that can fetch no other. */
export function findEarlierHubNode() {
  return places()
    .map((place) => join(place, "node"))
    .find((file) => existsSync(file) && majorOf(file) >= hubNodeMajor);
}

/**
 * Fetches it with npm, as this person has set npm up, and compares it with the hash that this package was made with. Returns
 * the file, or an Error that says what to do.
 */
export function fetchHubNode(say) {
  const expected = integrity[packageName];
  if (expected === undefined)
    return new Error(`there is no Node ${hubNodeMajor} to fetch for ${process.platform} on ${process.arch}`);
  const place = places().find(isWritable);
  if (place === undefined) return new Error(`none of these folders can be written: ${places().join(", ")}`);
  say(`fetching Node ${version} into ${place}, once (about 50 MB)…`);
  const folder = mkdtempSync(join(place, "fetching-"));
  try {
    writeFileSync(join(folder, "package.json"), "{}\n");
    const { status, error, stderr } = npmInstall(folder);
    if (status !== 0)
      return new Error(`npm could not fetch it (${error?.message ?? firstComplaint(stderr)})`);
    const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
    if (lock.packages[`node_modules/${packageName}`]?.integrity !== expected)
      return new Error(`npm fetched another ${packageName} ${version} than this package was made with`);
    putInPlace(join(folder, "node_modules", packageName), join(place, folderName));
    return leadTo(place);
  } catch (error) {
    return error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Beside the package, where everybody who can run it finds it, or else in the person's own cache. Never in the package itself:
 * `npm install` of another version removes its folder, and services are started by that Node (docs/adr/0101).
 */
function places() {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const modules = folderOfPackages();
  return [...(modules === undefined ? [] : [join(modules, ".writ")]), join(cache, "writ")];
}

/** The outermost `node_modules` in which this package is: a package manager may keep it in a folder named after its version. */
function folderOfPackages() {
  let found;
  for (let at = packageFolder; at !== dirname(at); at = dirname(at))
    if (basename(at) === "node_modules" && isThisPackage(join(at, basename(packageFolder)))) found = at;
  return found;
}

function isThisPackage(folder) {
  try {
    return realpathSync(folder) === packageFolder;
  } catch {
    // There is no such folder.
    return false;
  }
}

function nodeIn(place) {
  return join(place, folderName, "bin", "node");
}

/**
 * Makes `node` in this place lead to the Node of this version, and returns that Node. Services start the link: its path is the
 * same for every version. By rename, so that it is never missing.
 */
function leadTo(place) {
  const node = nodeIn(place);
  const link = join(place, "node");
  const fresh = `${link}.${process.pid}`;
  try {
    if (existsSync(link) && realpathSync(link) === realpathSync(node)) return node;
    symlinkSync(join(folderName, "bin", "node"), fresh);
    renameSync(fresh, link);
  } catch {
    // Somebody who may only read here runs it all the same.
    rmSync(fresh, { force: true });
  }
  return node;
}

function nodesOnPath() {
  return (process.env.PATH ?? "").split(delimiter).map((dir) => join(dir || ".", "node"));
}

function isWritable(place) {
  try {
    mkdirSync(place, { recursive: true });
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    // The caller tries the next place.
    return false;
  }
}

/** Scripts are not run, and nothing that npx has set for its own call leads npm to another folder. */
function npmInstall(folder) {
  const words = ["install", `${packageName}@${version}`, "--prefix", folder, "--ignore-scripts"];
  const flags = ["--global=false", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  const npm = process.env.npm_execpath;
  const isScript = npm?.endsWith(".js") && existsSync(npm);
  const [file, ...first] = isScript ? [process.execPath, npm] : ["npm"];
  return spawnSync(file, [...first, ...words, ...flags], { cwd: folder, encoding: "utf8" });
}

function firstComplaint(stderr) {
  return stderr.trim().split("\n")[0].slice(0, 300) || "without saying why";
}

/** Another start may have been quicker: what is there is the same. */
function putInPlace(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

function majorOf(file) {
  const { stdout } = spawnSync(file, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return Number(/^v(\d+)\./.exec(stdout ?? "")?.[1] ?? 0);
}
