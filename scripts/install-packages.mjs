import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { root, stateDir } from "./paths.mjs";

const stampFile = join(stateDir, "stamp");
const linesShownMax = 15;

/** Set-up step: installs the packages of the lock file. */
export const installPackages = {
  name: "installing packages (about a minute the first time)",
  isSlow: true,
  isDone() {
    if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp()) return true;
    // Somebody may have run npm by hand; installing the same packages again would waste a minute.
    if (!lockIsInstalled()) return false;
    writeStamp();
    return true;
  },
  run() {
    const result = npm("ci");
    if (result.status !== 0) {
      // npm prints the cause first; the usage text after it does not help here.
      process.stderr.write(`${result.output.trim().split("\n").slice(0, linesShownMax).join("\n")}\n`);
      throw new Error(
        "npm could not install the packages (see its message above); fix that and run `npm run setup` again",
      );
    }
    writeStamp();
  },
};

/** Covers package.json too, because a dependency can be added there before it is locked. */
function stamp() {
  const hash = createHash("sha256");
  for (const name of ["package-lock.json", "package.json"]) hash.update(readFileSync(join(root, name)));
  return hash.digest("hex");
}

function writeStamp() {
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(stampFile, stamp());
}

/** Compares npm's own record of what it installed with the lock file. */
function lockIsInstalled() {
  const record = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(record) || !lockAnswersManifest()) return false;
  const installed = readJson(record).packages;
  return Object.entries(readJson(join(root, "package-lock.json")).packages).every(([path, locked]) => {
    const found = installed[path];
    if (path === "") return true;
    if (found === undefined) return locked.optional === true;
    return found.version === locked.version && found.integrity === locked.integrity;
  });
}

function lockAnswersManifest() {
  const asked = readJson(join(root, "package.json"));
  const locked = readJson(join(root, "package-lock.json")).packages[""];
  return ["dependencies", "devDependencies", "optionalDependencies"].every(
    (kind) => sortedText(asked[kind]) === sortedText(locked[kind]),
  );
}

function sortedText(dependencies = {}) {
  return JSON.stringify(Object.entries(dependencies).sort());
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

/**
 * `npm run` puts node_modules/.bin first on the PATH, and there lies a `node` that npm is about to replace and
 * that may not run on this host; npm itself has to run on the host's Node.
 */
function npm(...args) {
  // The log level is set because `npm --silent test` would hand its silence down to this call.
  const flags = ["--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const hostPath = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((dir) => !dir.includes("node_modules/.bin"));
  const options = { cwd: root, encoding: "utf8", env: { ...process.env, PATH: hostPath.join(delimiter) } };
  const viaNpm = process.env.npm_execpath?.endsWith("npm-cli.js") ? process.env.npm_execpath : undefined;
  const result = viaNpm
    ? spawnSync(process.execPath, [viaNpm, ...args, ...flags], options)
    : spawnSync("npm", [...args, ...flags], options);
  if (result.error)
    throw new Error(`npm could not be started (${result.error.message}); install npm and run this again`);
  return { status: result.status, output: `${result.stdout}${result.stderr}` };
}
