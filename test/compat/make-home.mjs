import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fillHome } from "./fill-home.mjs";
import { postgresServer, sqliteFile } from "./made-database.mjs";
import { withOldSources } from "./old-sources.ts";
import { packFixture } from "./pack-fixture.mjs";

// Makes the home of a hub by the program of an older commit, one for each commit that is named (default: HEAD):
// `node_modules/.writ/node test/compat/make-home.mjs [--postgres] [COMMIT…]`. The README beside this says when one is needed.
const root = join(import.meta.dirname, "../..");
const node = join(root, "node_modules/.writ/node");
const startMsMax = 60_000;
const passphrase = "it protects nothing";

const isOnPostgres = process.argv.includes("--postgres");
const commits = process.argv.slice(2).filter((argument) => argument !== "--postgres");
for (const commit of commits.length === 0 ? ["HEAD"] : commits) {
  const name = execFileSync("git", ["rev-parse", "--short=7", commit], {
    cwd: root,
    encoding: "utf8",
  }).trim();
  process.stdout.write(`${await withOldSources(name, (dir) => makeHome(name, dir))}\n`);
}

async function makeHome(commit, dir) {
  const home = join(dir, "made/home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const database = await (isOnPostgres ? postgresServer() : sqliteFile(home));
  try {
    const filled = await runHub(dir, { home, env: database.env });
    const schema = await database.schema();
    backUp(dir, { home, env: database.env });
    const made = { commit, schema, passphrase, ...filled };
    writeFileSync(join(dir, "made/made.json"), JSON.stringify(made, null, 1));
    await database.save(join(dir, "made"));
    return packFixture(
      join(dir, "made"),
      join(database.folder, `schema-${String(schema).padStart(3, "0")}.tar.gz`),
    );
  } finally {
    await database.close();
  }
}

async function runHub(dir, { home, env }) {
  const hub = await startHub(dir, { home, env });
  try {
    return await fillHome({ ...hub, runFunctions: (options) => runFunctions(dir, options) });
  } finally {
    await stop(hub.child);
  }
}

async function startHub(dir, { home, env: more }) {
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    WRIT_BACKOFF_SCALE: "0",
    WRIT_LEASE_MS: "3600000",
    ...more,
  };
  const args = ["src/cli/writ.ts", "--home", home, "hub", "--port", "0", "--grpc-port", "0"];
  const child = spawn(node, args, { cwd: dir, env, stdio: ["ignore", "ignore", "inherit"] });
  const deadline = Date.now() + startMsMax;
  while (!existsSync(join(home, "hub.json"))) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error("the hub does not start");
    await sleep(20);
  }
  const { url } = JSON.parse(readFileSync(join(home, "hub.json"), "utf8"));
  return { child, url, admin: readFileSync(join(home, "admin.token"), "utf8").trim() };
}

/** A worker of the same commit whose jobs are functions: only such a one signs receipts. */
async function runFunctions(dir, { url, token, until }) {
  copyFileSync(join(import.meta.dirname, "old-functions-entry.mjs"), join(dir, "functions.mjs"));
  const env = { PATH: process.env.PATH, HOME: dir, HUB: url, TOKEN: token };
  const child = spawn(node, ["functions.mjs"], { cwd: dir, env, stdio: ["ignore", "inherit", "inherit"] });
  try {
    await until();
  } finally {
    await stop(child);
  }
}

/** By its own `writ backup`, if that version has the command. */
function backUp(dir, { home, env: more }) {
  const places = ["src/cli/writ/backup.ts", "src/cli/writ/database/backup.ts"];
  if (!places.some((place) => existsSync(join(dir, place)))) return;
  const env = { PATH: process.env.PATH, HOME: dir, ...more };
  const words = ["--home", home, "backup", join(dir, "made/backup.writ"), "--passphrase-file", "-"];
  execFileSync(node, ["src/cli/writ.ts", ...words], { cwd: dir, env, input: `${passphrase}\n` });
}

async function stop(child) {
  if (child.exitCode === null && child.kill("SIGTERM")) await once(child, "exit");
  if (child.exitCode !== 0) throw new Error(`a program of the old version ended with ${child.exitCode}`);
}
