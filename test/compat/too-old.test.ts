import { createHash } from "node:crypto";
import { createWriteStream, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { packFiles } from "../../src/hub/backup/archive.ts";
import { sealWith } from "../../src/hub/backup/passphrase-cipher.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { removeHome } from "../support/remove-home.ts";
import { runCli } from "../support/run-cli.ts";
import { loadDump } from "./load-dump.ts";
import { type OldHome, openOldHome } from "./old-home.ts";

const advice = "which is version 0.1.0; open it once with version 0.1.0 (commit 7137a49), which upgrades it";
const ofFile = `the database has schema 24, and this program upgrades from schema 25 on, ${advice}, then with this one`;
const ofServer = `the database has schema 6, and this program upgrades from schema 7 on, ${advice}, then with this one`;

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-too-old-"));
  onTestFinished(() => removeHome(dir));
  return dir;
}

/** Every file of a home by its path, with a hash of its bytes. */
function filesOf(home: string): Record<string, string> {
  const paths = (readdirSync(home, { recursive: true }) as string[]).sort();
  const files = paths.filter((path) => statSync(join(home, path)).isFile());
  const hash = (path: string) =>
    createHash("sha256")
      .update(readFileSync(join(home, path)))
      .digest("hex");
  return Object.fromEntries(files.map((path) => [path, hash(path)]));
}

/** The calls that open a home's database, each refused with this sentence. */
async function expectRefusals(home: string, env: Record<string, string>, sentence: string): Promise<void> {
  await expect(startTestHub({ ...stillEnv, ...env }, { home })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: sentence,
  });
  const to = Object.keys(env).length === 0 ? "TO" : `sqlite:${join(folder(), "new.sqlite")}`;
  const target = to === "TO" ? ["--to-env", "TO"] : ["--to", to];
  const commands = [
    ["upgrade-check"],
    ["backup", join(folder(), "backup.writ"), "--passphrase-file", passphraseFile()],
    ["audit", "verify"],
    ["audit", "verify", "--seals"],
    ["migrate", ...target],
  ];
  for (const words of commands) {
    const around = { env: { ...env, TO: "postgres://writ@127.0.0.1:1/none" } };
    const { code, stderr } = await runCli("writ", [...words, "--home", home], around);
    expect({ words, code, stderr }).toEqual({ words, code: 2, stderr: expect.stringContaining(sentence) });
    expect(stderr.trimEnd().split("\n"), words.join(" ")).toHaveLength(1);
  }
  const { code, stdout } = await runCli("writ", ["doctor", "--json", "--home", home], { env });
  const findings = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { check: string });
  expect(findings).toContainEqual({ check: "schema", state: "problem", says: sentence });
  expect(code).toBe(1);
}

function passphraseFile(): string {
  const file = join(folder(), "passphrase");
  writeFileSync(file, "it protects nothing\n", { mode: 0o600 });
  return file;
}

/** As `writ backup` of that version wrote it: the format has not changed since. */
async function backUp({ home }: OldHome, parts: readonly string[]): Promise<string> {
  const backup = join(folder(), "backup.writ");
  await pipeline(
    packFiles(parts.map((path) => ({ path, file: join(home, path) }))),
    zlib.createZstdCompress(),
    sealWith("it protects nothing", { created_at: 1, version: "0.0.9" }),
    createWriteStream(backup, { mode: 0o600 }),
  );
  return backup;
}

async function restore(file: string, env: Record<string, string>) {
  const parent = folder();
  const words = ["restore", file, "--home", join(parent, "home"), "--passphrase-file", passphraseFile()];
  const { code, stderr } = await runCli("writ", words, { env });
  return { code, stderr, left: readdirSync(parent) };
}

const keys = ["keys/ring.json", "keys/mac.key"];

test("a home from before version 0.1.0 is refused by one line that names the version to pass through, and left as it is", async () => {
  const old = openOldHome(24, "homes");
  onTestFinished(() => old.remove());
  const before = filesOf(old.home);
  await expectRefusals(old.home, {}, ofFile);
  expect(filesOf(old.home)).toMatchObject(before);
});

test("a backup from before version 0.1.0 is refused, and leaves nothing behind", async () => {
  const old = openOldHome(24, "homes");
  onTestFinished(() => old.remove());
  const refused = await restore(await backUp(old, ["writ.sqlite", ...keys]), {});
  expect(refused).toEqual({
    code: 2,
    stderr: expect.stringContaining(`the backup is refused: ${ofFile}`),
    left: [],
  });
});

describe.skipIf(noPostgres !== undefined)(`on PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
  });
  afterAll(() => cluster.stop());

  test("so are a database from before version 0.1.0 and its backup", async () => {
    const old = openOldHome(6, "postgres");
    onTestFinished(() => old.remove());
    const env = { WRIT_DATABASE_URL: await loadDump(cluster, old.dump, "too_old") };
    const before = filesOf(old.home);
    await expectRefusals(old.home, env, ofServer);
    expect(filesOf(old.home)).toMatchObject(before);
    const refused = await restore(await backUp(old, keys), env);
    expect(refused).toEqual({
      code: 2,
      stderr: expect.stringContaining(`the backup is refused: ${ofServer}`),
      left: [],
    });
    await withClient(env.WRIT_DATABASE_URL, async (client) => {
      const { rows } = await client.query("SELECT max(version) AS version FROM writ.schema_steps");
      expect(rows).toEqual([{ version: 6 }]);
    });
  });
});
