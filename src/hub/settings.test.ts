import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { generateSigningKey } from "../signing/ed25519.ts";
import { s3SettingsOf } from "./s3-settings.ts";
import { loadHubSettings } from "./settings.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "writ-hub-settings-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const load = (env: Record<string, string>) => loadHubSettings({ home, flags: {}, env });

test.each([["WRIT_DATABASE_URL", "postgres://localhost/writ", "has no PostgreSQL store"]])(
  "B13: %s, which this version does not have, stops the start",
  async (name, value, why) => {
    await expect(load({ [name]: value })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(`${name} is set, but this version ${why}`),
    });
    await expect(load({ [name]: "" })).resolves.toBeDefined();
  },
);

test("B13: the same in the file stops the start as an unknown key", async () => {
  writeFileSync(join(home, "writ.yaml"), "database_url: postgres://localhost/writ\n");
  await expect(load({})).rejects.toThrow('unknown key "database_url"');
});

test("B13: a signing key that cannot be used is refused under its name, and not shown", async () => {
  const pem = generateSigningKey().privateKeyPem;
  for (const key of ["not a key", pem.slice(0, 60), `${pem}${pem}`]) {
    const refused = load({ JOB_SIGNING_PRIVATE_KEY: key });
    await expect(refused).rejects.toThrow("JOB_SIGNING_PRIVATE_KEY: *** is not allowed; use an Ed25519");
  }
  expect((await load({ JOB_SIGNING_PRIVATE_KEY: pem })).signingKeyPem).toBe(pem);
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

test("files are not sent unencrypted to another machine unless somebody says so", async () => {
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

test("every setting is shown with where its value came from, and no secret", async () => {
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
