import { spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

// The Node that hub and worker run on where the one that npm uses is older. It is no dependency of the package: npm would
// put its `node` first on the PATH of everything in the folder that the package is installed into.
const { version, integrity, commands } = JSON.parse(
  readFileSync(new URL("hub-node.json", import.meta.url), "utf8"),
);
export const hubNodeMajor = Number(version.split(".")[0]);
const packageName = `node-${process.platform}-${process.arch}`;
const folderName = `${packageName}-${version}`;
const built = fileURLToPath(new URL("../built", import.meta.url));

/** Whether a program needs that Node for these arguments. The programs themselves say so of each command; options come first. */
export function needsHubNode(program, args) {
  const known = commands[program];
  if (known === undefined) return true;
  if (args.includes("--help") || args.includes("-h")) return false;
  const command = args.find((word) => Object.hasOwn(known, word));
  return command !== undefined && known[command];
}

/** One that is there: it was fetched before, or the person has one on the PATH. */
export function findHubNode() {
  const fetched = places().map((place) => join(place, folderName, "bin", "node"));
  const onPath = (process.env.PATH ?? "").split(delimiter).map((dir) => join(dir || ".", "node"));
  return fetched.find(existsSync) ?? onPath.find((file) => existsSync(file) && majorOf(file) >= hubNodeMajor);
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
    return join(place, folderName, "bin", "node");
  } catch (error) {
    return error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In the package, where everybody who can run it finds it, or else in the person's own cache. */
function places() {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return [built, join(cache, "writ")];
}

function isWritable(place) {
  try {
    mkdirSync(place, { recursive: true });
    accessSync(place, constants.W_OK);
    return true;
  } catch {
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
