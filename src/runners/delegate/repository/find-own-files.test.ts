import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../../store/sqlite/open-store.ts";
import { findOwnFiles, ownFolderAbove } from "./find-own-files.ts";

const token = `sk_worker_${"x".repeat(43)}`;

/** A repository with these files, which only their owner may read. */
function repository(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), "writ-own-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode: 0o600 });
  }
  return root;
}

test("O-02: homes of hubs and workers and folders with keys are found at any depth", async () => {
  const root = repository({
    "lib/hub/admin.token": "",
    "lib/hub/worker/worker.key": "",
    "a/b/c/d/.home/keys/ring.json": "{}",
    "elsewhere/keys-of-all/ring.json": "{}",
    "elsewhere/keys-of-all/mac.key": "",
    "elsewhere/worker/worker.key": "",
    "fleet/one/worker/worker.key": "",
    "fleet/one/work/jobs/of-somebody/result": "",
    "elsewhere/olympics/ring.json": "{}",
    "src/deep/down/hub/admin.token": "",
  });
  const found = [
    "a/b/c/d/.home",
    "elsewhere/keys-of-all",
    "elsewhere/worker",
    "fleet/one",
    "lib/hub",
    "src/deep/down/hub",
  ];
  expect((await findOwnFiles(root, ["src"])).sort()).toEqual(found);
  expect((await findOwnFiles(root, [])).sort()).toEqual(found);
  expect(ownFolderAbove(join(root, "elsewhere/keys-of-all/x/y"))).toBe(join(root, "elsewhere/keys-of-all"));
  expect(ownFolderAbove(join(root, "elsewhere"))).toBeUndefined();
});

test("O-02: where an agent may change something, databases and files with a token are found too", async () => {
  const root = repository({
    "src/writ.sqlite": "",
    "src/writ.sqlite-wal": "",
    "src/other.db": "",
    "src/other.db.hub.json": "{}",
    "src/of-a-worker.yaml": `server: { worker_token: ${token} }\n`,
    "src/a.test.ts": `const shown = "${token}";\n`,
    "src/plain.txt": "sk_worker_short\n",
    "docs/token.txt": token,
  });
  chmodSync(join(root, "src/a.test.ts"), 0o644);
  const found = ["of-a-worker.yaml", "other.db", "writ.sqlite", "writ.sqlite-wal"];
  expect((await findOwnFiles(root, ["src"])).sort()).toEqual(found.map((name) => `src/${name}`));
});

test("O-02: a database of a hub is found under any name, with its log; one of another program is not", async () => {
  const root = repository({ "src/notes.txt": "CREATE TABLE paused_types\n" });
  const store = await openSqliteStore({ path: join(root, "src/kept"), macKey: Buffer.alloc(32, 7) });
  await store.close();
  writeFileSync(join(root, "src/kept-wal"), "", { mode: 0o600 });
  const other = new DatabaseSync(join(root, "src/other.db"));
  other.exec("CREATE TABLE notes (text TEXT)");
  other.close();
  chmodSync(join(root, "src/other.db"), 0o600);
  expect((await findOwnFiles(root, ["src"])).sort()).toEqual(["src/kept", "src/kept-wal"]);
});
