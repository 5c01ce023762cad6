import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { generateSigningKey } from "../../signing/ed25519.ts";
import { s3SettingsOf } from "./s3-settings.ts";
import { loadHubSettings } from "./settings.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "writ-hub-settings-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const load = (env: Record<string, string>) => loadHubSettings({ home, flags: {}, env });

test("B13: a database that is not in PostgreSQL is refused with the name of its setting and without its password", async () => {
  const refused = load({ WRIT_DATABASE_URL: "mysql://u:secret@h/writ" });
  await expect(refused).rejects.toThrow(
    "WRIT_DATABASE_URL: *** is not allowed; use an address such as postgres://",
  );
  await expect(refused).rejects.not.toThrow("secret");
  expect((await load({ WRIT_DATABASE_URL: "" })).databaseUrl).toBeNull();
});

test("a file that names a database with its password must be private", async () => {
  const path = join(home, "writ.yaml");
  writeFileSync(path, "database_url: postgres://u:secret@h/writ\n");
  chmodSync(path, 0o644);
  await expect(load({})).rejects.toThrow("writ.yaml");
  chmodSync(path, 0o600);
  expect((await load({})).databaseUrl).toBe("postgres://u:secret@h/writ");
});

test("an unknown key is refused with the most similar allowed key", async () => {
  writeFileSync(join(home, "writ.yaml"), "quota: {}\n");
  await expect(load({})).rejects.toThrow(
    /unknown key "quota" .*\(did you mean quotas\?\); allowed are .*, commands, users, quotas$/,
  );
});

test("the address of a database is removed from the environment when it is read", async () => {
  const env = { WRIT_DATABASE_URL: "postgres://u:secret@h/writ" };
  expect((await load(env)).databaseUrl).toBe("postgres://u:secret@h/writ");
  expect(env).toEqual({});
});

test("a shared folder for output is refused without a shared database, and if it is not an absolute path", async () => {
  await expect(load({ WRIT_OUTPUTS_DIR: "/mnt/outputs" })).rejects.toThrow(
    "WRIT_OUTPUTS_DIR: is only for hubs that share a PostgreSQL database; set WRIT_DATABASE_URL too",
  );
  const database = { WRIT_DATABASE_URL: "postgres://u@h/writ" };
  await expect(load({ ...database, WRIT_OUTPUTS_DIR: "outputs" })).rejects.toThrow("use an absolute path");
  expect((await load({ ...database, WRIT_OUTPUTS_DIR: "/mnt/outputs" })).outputsDir).toBe("/mnt/outputs");
});

test("the password of a database may be in a private file, and only there", async () => {
  const path = join(home, "password");
  const env = { WRIT_DATABASE_URL: "postgres://u@h:5432/writ", WRIT_DATABASE_PASSWORD_FILE: path };
  await expect(load({ ...env })).rejects.toThrow(`WRIT_DATABASE_PASSWORD_FILE: ${path} does not exist`);
  writeFileSync(path, "s%cret/@\n", { mode: 0o644 });
  await expect(load({ ...env })).rejects.toThrow(path);
  chmodSync(path, 0o600);
  const loaded = await load({ ...env });
  expect(loaded.databaseUrl).toBe("postgres://u:s%25cret%2F%40@h:5432/writ");
  expect(JSON.stringify(loaded.shown)).not.toContain("cret%2F");
  const both = { ...env, WRIT_DATABASE_URL: "postgres://u:secret@h/writ" };
  await expect(load(both)).rejects.toThrow("use postgres://user@host/database without a password");
  await expect(load({ WRIT_DATABASE_PASSWORD_FILE: path })).rejects.toThrow("WRIT_DATABASE_URL is not");
});

test("B13: a signing key that cannot be used is refused with the name of its setting and not shown", async () => {
  const pem = generateSigningKey().privateKeyPem;
  for (const key of ["not a key", pem.slice(0, 60), `${pem}${pem}`]) {
    const refused = load({ JOB_SIGNING_PRIVATE_KEY: key });
    await expect(refused).rejects.toThrow("JOB_SIGNING_PRIVATE_KEY: *** is not allowed; use an Ed25519");
  }
  for (const text of [pem, pem.replaceAll("\n", "\\n"), Buffer.from(pem).toString("base64"), `|\n${pem}`])
    expect((await load({ JOB_SIGNING_PRIVATE_KEY: text })).signingKeyPem).toBe(pem);
});

const store = {
  WRIT_S3_ENDPOINT: "https://s3.example",
  WRIT_S3_BUCKET: "files",
  WRIT_S3_ACCESS_KEY: "id",
  WRIT_S3_SECRET_KEY: "s3-secret",
};

test("half of the settings of an object store stop the start, and name the missing half", async () => {
  for (const name of Object.keys(store)) {
    const { [name as keyof typeof store]: _, ...rest } = store;
    const refused = load(rest);
    await expect(refused).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(refused).rejects.toThrow(`set without ${name}`);
  }
  await expect(load({ ...store, WRIT_S3_SECRET_KEY_FILE: "/key" })).rejects.toThrow("are both set");
  const env: Record<string, string> = { ...store };
  expect(await load(env)).toMatchObject({ s3Bucket: "files", s3Region: "us-east-1", s3PathStyle: true });
  expect(env, "no process that is started later inherits it").not.toHaveProperty("WRIT_S3_SECRET_KEY");
});

test("files are sent unencrypted to another machine only with WRIT_S3_PLAINTEXT", async () => {
  const plain = { ...store, WRIT_S3_ENDPOINT: "http://minio.internal:9000" };
  await expect(load(plain)).rejects.toThrow("would send files unencrypted");
  await expect(load({ ...plain, WRIT_S3_PLAINTEXT: "true" })).resolves.toBeDefined();
  await expect(load({ ...store, WRIT_S3_ENDPOINT: "http://127.0.0.1:9000" })).resolves.toBeDefined();
});

test("the secret key of an object store may be in a file, which must be private", async () => {
  const { WRIT_S3_SECRET_KEY: _, ...rest } = store;
  const path = join(home, "s3.key");
  writeFileSync(path, "from-a-file\n", { mode: 0o600 });
  const settings = await load({ ...rest, WRIT_S3_SECRET_KEY_FILE: path });
  expect(await s3SettingsOf(settings)).toMatchObject({ secretKey: "from-a-file", bucket: "files" });
  chmodSync(path, 0o644);
  await expect(s3SettingsOf(settings)).rejects.toThrow("other users can access");
  expect(await s3SettingsOf(await load({}))).toBeNull();
});

test("a worker may not count as inactive between two of its heartbeats", async () => {
  await expect(load({ WRIT_WORKER_INACTIVE_MS: "10000" })).rejects.toThrow(
    "WRIT_WORKER_INACTIVE_MS: 10000 is not allowed; workers send a heartbeat every 10000 ms; use more than that",
  );
  await expect(load({ WRIT_WORKER_INACTIVE_MS: "10001" })).resolves.toBeDefined();
  const shorter = { WRIT_LEASE_MS: "3000", WRIT_WORKER_INACTIVE_MS: "1001" };
  await expect(load(shorter)).resolves.toBeDefined();
});

test("every setting is shown with the source of its value, and no secret", async () => {
  writeFileSync(join(home, "writ.yaml"), "lease_ms: 5000\nusers: [alice]\n");
  const env = { WRIT_REAPER_INTERVAL_MS: "200", WRIT_ADMIN_TOKEN: `sk_admin_${"a".repeat(24)}` };
  const { shown } = await loadHubSettings({ home, flags: { port: "0" }, env });
  const row = (name: string) => shown.find((setting) => setting.name === name);
  expect(row("PORT")).toMatchObject({ value: 0, from: "flag" });
  expect(row("WRIT_REAPER_INTERVAL_MS")).toMatchObject({ value: 200, from: "environment" });
  expect(row("WRIT_LEASE_MS")).toMatchObject({ value: 5000, from: "file" });
  expect(row("WRIT_HOST")).toMatchObject({ value: "127.0.0.1", from: "default" });
  expect(row("WRIT_ADMIN_TOKEN")).toEqual({
    name: "WRIT_ADMIN_TOKEN",
    value: null,
    isSecret: true,
    from: "environment",
  });
  expect(row("users")).toMatchObject({ value: ["alice"], from: "file" });
  expect(JSON.stringify(shown)).not.toContain("aaaa");
});

test.each([
  ["trusted_proxies: banana", /trusted_proxies: "banana" is not allowed; .*IP addresses separated by commas/],
  ["quotas: { a: { max_pending: 3 } }", /quotas\.a: must be 3 to 50/],
  ["commands: { deny: reboot }", /commands\.deny: must be a list/],
  ["users: alice", /users: must be a list/],
])("a wrong value in the file is refused with what is allowed: %s", async (line, message) => {
  writeFileSync(join(home, "writ.yaml"), `${line}\n`);
  await expect(load({})).rejects.toThrow(message);
});
