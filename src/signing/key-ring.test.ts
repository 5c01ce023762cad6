import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { generateSigningKey, loadVerifyingKey, signText, verifyText } from "./ed25519.ts";
import { openKeyRing } from "./key-ring.ts";
import { openKeySet } from "./key-set.ts";

const nowMs = 1_763_200_000_000;
const rejected = expect.objectContaining({ code: "KEY_REJECTED" });
let home: string;
let dir: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "writ-key-ring-"));
  dir = join(home, "keys");
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

function editRing(edit: (record: Record<string, unknown>) => void): void {
  const path = join(dir, "ring.json");
  const ring = JSON.parse(readFileSync(path, "utf8"));
  edit(ring.keys[0]);
  writeFileSync(path, JSON.stringify(ring));
}

describe("openKeyRing refuses", () => {
  test("a directory or any file that others may read", () => {
    openKeyRing(dir, { nowMs });
    for (const name of ["", ...readdirSync(dir)]) {
      const path = join(dir, name);
      const mode = statSync(path).mode & 0o777;
      for (const bit of [0o040, 0o004, 0o020, 0o002]) {
        chmodSync(path, mode | bit);
        expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
      }
      chmodSync(path, mode);
    }
    expect(() => openKeyRing(dir, { nowMs })).not.toThrow();
  });

  test("to replace a key that is lost", () => {
    const { signing } = openKeyRing(dir, { nowMs });
    for (const name of ["mac.key", `signing-${signing.keyId}.pem`]) {
      renameSync(join(dir, name), join(home, name));
      expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
      renameSync(join(home, name), join(dir, name));
    }
    rmSync(join(dir, "ring.json"));
    rmSync(join(dir, "mac.key"));
    expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
  });

  test("two signing keys without a ring that says which one is active", () => {
    openKeyRing(dir, { nowMs });
    const other = generateSigningKey();
    writeFileSync(join(dir, `signing-${other.signingKey.keyId}.pem`), other.privateKeyPem, { mode: 0o600 });
    rmSync(join(dir, "ring.json"));
    expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
  });

  test("a signing file that holds another key", () => {
    const { signing } = openKeyRing(dir, { nowMs });
    writeFileSync(join(dir, `signing-${signing.keyId}.pem`), generateSigningKey().privateKeyPem);
    expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
  });

  test("a given key that is revoked", () => {
    const givenPrivateKeyPem = generateSigningKey().privateKeyPem;
    const ring = openKeyRing(dir, { nowMs, givenPrivateKeyPem });
    const { keyId } = ring.signing;
    ring.rotate({ nowMs });
    ring.revoke(keyId, { nowMs });
    expect(() => openKeyRing(dir, { nowMs, givenPrivateKeyPem })).toThrow(rejected);
    expect(() => openKeyRing(dir, { nowMs })).not.toThrow();
  });

  test("a MAC key of the wrong length", () => {
    openKeyRing(dir, { nowMs });
    writeFileSync(join(dir, "mac.key"), "abcd\n");
    expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
  });

  test("a ring that was edited", () => {
    const edits: ((record: Record<string, unknown>) => void)[] = [
      (record) => Object.assign(record, { key_id: "0123456789abcdef" }),
      (record) => Object.assign(record, { status: "retiring" }),
      (record) => Object.assign(record, { status: "trusted" }),
      (record) => Object.assign(record, { not_before: "today" }),
      (record) => Object.assign(record, { public_key: generateSigningKey().signingKey.publicKeyPem }),
    ];
    for (const edit of edits) {
      rmSync(dir, { recursive: true, force: true });
      openKeyRing(dir, { nowMs });
      editRing(edit);
      expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
    }
  });

  test("a symbolic link in place of a key, and a directory", () => {
    openKeyRing(dir, { nowMs });
    renameSync(join(dir, "mac.key"), join(home, "mac.key"));
    symlinkSync(join(home, "mac.key"), join(dir, "mac.key"));
    expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
    rmSync(join(dir, "mac.key"));
    mkdirSync(join(dir, "mac.key"), { mode: 0o700 });
    expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
  });
});

test("the first start makes three private files and nothing else", () => {
  const ring = openKeyRing(dir, { nowMs });
  const names = ["mac.key", "ring.json", `signing-${ring.signing.keyId}.pem`];
  expect(readdirSync(dir).sort()).toEqual(names);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const name of names) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
});

test("the list shows the active key, under which the ring's signatures verify, and no private key", () => {
  const ring = openKeyRing(dir, { nowMs });
  const [record] = ring.list();
  expect(record).toEqual({
    key_id: ring.signing.keyId,
    public_key: ring.signing.publicKeyPem,
    status: "active",
    not_before: nowMs,
    not_after: null,
  });
  const key = loadVerifyingKey(record?.public_key ?? "");
  expect(verifyText(key, "text", signText(ring.signing, "text"))).toBe(true);
  expect(readFileSync(join(dir, "ring.json"), "utf8")).not.toContain("PRIVATE");
});

test("a later start finds the same keys and keeps their time", () => {
  const first = openKeyRing(dir, { nowMs });
  const second = openKeyRing(dir, { nowMs: nowMs + 1000 });
  expect(second.signing.keyId).toBe(first.signing.keyId);
  expect(second.macKey.equals(first.macKey)).toBe(true);
  expect(second.list()).toEqual(first.list());
});

test("a start that crashed before the ring was written is taken up where it stopped", () => {
  const first = openKeyRing(dir, { nowMs });
  rmSync(join(dir, "ring.json"));
  const afterSigningKey = openKeyRing(dir, { nowMs });
  expect(afterSigningKey.signing.keyId).toBe(first.signing.keyId);
  rmSync(join(dir, "ring.json"));
  rmSync(join(dir, `signing-${first.signing.keyId}.pem`));
  const afterMacKey = openKeyRing(dir, { nowMs });
  expect(afterMacKey.macKey.equals(first.macKey)).toBe(true);
});

test("a given key signs and is never written down", () => {
  const { signingKey, privateKeyPem } = generateSigningKey();
  const ring = openKeyRing(dir, { nowMs, givenPrivateKeyPem: privateKeyPem });
  expect(ring.signing.keyId).toBe(signingKey.keyId);
  expect(readdirSync(dir).sort()).toEqual(["mac.key", "ring.json"]);
  expect(() => openKeyRing(dir, { nowMs, givenPrivateKeyPem: privateKeyPem })).not.toThrow();
  expect(() => openKeyRing(dir, { nowMs })).toThrow(rejected);
});

test("a key verifies while it may sign: not before workers know it, not after its grace, not once revoked", () => {
  const ring = openKeyRing(dir, { nowMs });
  const old = ring.signing.keyId;
  expect(ring.verifierFor("0123456789abcdef", nowMs)).toBeNull();
  expect(ring.verifierFor("toString", nowMs)).toBeNull();
  expect(ring.verifierFor(old, nowMs)).toMatchObject({ keyId: old });
  ring.rotate({ nowMs, graceMs: 1000 });
  expect(ring.verifierFor(ring.signing.keyId, nowMs)).toMatchObject({ keyId: ring.signing.keyId });
  expect(ring.verifierFor(old, nowMs + 999)).toMatchObject({ keyId: old });
  expect(ring.verifierFor(old, nowMs + 1000)).toBeNull();
  ring.revoke(old, { nowMs });
  expect(ring.verifierFor(old, nowMs)).toBeNull();
});

test("B12: an emergency ends every older key, not only the one that was active", () => {
  const ring = openKeyRing(dir, { nowMs });
  const first = ring.signing.keyId;
  ring.rotate({ nowMs });
  const second = ring.signing.keyId;
  ring.rotate({ nowMs, graceMs: 1000, emergency: true });
  const newest = ring.signing.keyId;
  expect(ring.signers(nowMs).map(({ keyId }) => keyId)).toEqual([newest, second, first]);
  expect(ring.signers(nowMs + 1000).map(({ keyId }) => keyId)).toEqual([newest]);
  expect(ring.overdue(nowMs + 1000).map(({ key_id }) => key_id)).toEqual([first, second]);
});

test("B12: a key that ends before the notice of an emergency does not live longer because of it", () => {
  const ring = openKeyRing(dir, { nowMs });
  ring.rotate({ nowMs, graceMs: 500 });
  ring.rotate({ nowMs, graceMs: 1000, emergency: true });
  expect(ring.signers(nowMs + 500)).toHaveLength(2);
});

describe("O-16: a replaced key", () => {
  const graceMs = 14 * 86_400_000;
  const privateHalves = () => readdirSync(dir).filter((name) => name.startsWith("signing-"));
  const statusesOf = (ring: ReturnType<typeof openKeyRing>) => ring.list().map(({ status }) => status);

  test("is retired after 14 days, and its private half is gone from the disk", () => {
    const ring = openKeyRing(dir, { nowMs });
    const old = ring.signing.keyId;
    ring.rotate({ nowMs });
    expect(ring.retire(nowMs + graceMs - 1)).toEqual([]);
    expect(privateHalves()).toHaveLength(2);
    expect(ring.retire(nowMs + graceMs)).toEqual([old]);
    expect(statusesOf(ring)).toEqual(["retired", "active"]);
    expect(privateHalves()).toEqual([`signing-${ring.signing.keyId}.pem`]);
    expect(ring.retire(nowMs + graceMs)).toEqual([]);
    // Also where the clock is set back: its private half is gone for good.
    expect(statusesOf(openKeyRing(dir, { nowMs }))).toEqual(["retired", "active"]);
    expect(ring.signers(nowMs).map(({ keyId }) => keyId)).toEqual([ring.signing.keyId]);
  });

  test("whose private half outlived a crash loses it at the next start", () => {
    const ring = openKeyRing(dir, { nowMs });
    const file = join(dir, `signing-${ring.signing.keyId}.pem`);
    const pem = readFileSync(file);
    ring.rotate({ nowMs });
    ring.retire(nowMs + graceMs);
    writeFileSync(file, pem, { mode: 0o600 });
    openKeyRing(dir, { nowMs });
    expect(privateHalves()).toEqual([`signing-${ring.signing.keyId}.pem`]);
  });

  test("that has retired is listed for workers in words that those of 0.1 know", () => {
    const ring = openKeyRing(dir, { nowMs });
    const { keyId, publicKeyPem } = ring.signing;
    ring.rotate({ nowMs });
    ring.retire(nowMs + graceMs);
    const { keys } = openKeySet([loadVerifyingKey(ring.signing.publicKeyPem)], ring.keySet(nowMs + graceMs));
    expect(keys[0]).toMatchObject({ key_id: keyId, public_key: publicKeyPem, status: "retiring" });
    expect(keys[0]!.not_after).toBe(nowMs + graceMs);
  });

  test("that has retired is revoked by an emergency too", () => {
    const ring = openKeyRing(dir, { nowMs });
    const old = ring.signing.keyId;
    ring.rotate({ nowMs });
    ring.retire(nowMs + graceMs);
    ring.rotate({ nowMs: nowMs + graceMs, graceMs: 1000, emergency: true });
    expect(ring.overdue(nowMs + graceMs).map(({ key_id }) => key_id)).toEqual([old]);
    expect(ring.revoke(old, { nowMs: nowMs + graceMs, emergency: true })).toMatchObject({
      status: "revoked",
    });
  });
});

describe("O-16: another given key", () => {
  const [first, second, third] = [generateSigningKey(), generateSigningKey(), generateSigningKey()];
  const open = (given?: { privateKeyPem: string }) =>
    openKeyRing(dir, { nowMs, givenPrivateKeyPem: given?.privateKeyPem });

  test("replaces the one in the folder, which also signs for 14 days", () => {
    const old = open().signing.keyId;
    const ring = open(first);
    expect(ring.replacedKeyId).toBe(old);
    expect(ring.list()).toMatchObject([
      { key_id: old, status: "retiring", not_after: nowMs + 14 * 86_400_000 },
      { key_id: first.signingKey.keyId, status: "active", not_after: null },
    ]);
    expect(ring.signers(nowMs).map(({ keyId }) => keyId)).toEqual([first.signingKey.keyId, old]);
    expect(readFileSync(join(dir, "ring.json"), "utf8")).not.toContain("PRIVATE");
    expect(open(first).replacedKeyId).toBeNull();
    // It is nowhere but in the environment, so that a start without it is refused.
    expect(() => open()).toThrow(rejected);
  });

  test("replaces a given one, which is trusted for 14 days although it can no longer sign", () => {
    open(first);
    const ring = open(second);
    expect(ring.replacedKeyId).toBe(first.signingKey.keyId);
    expect(ring.signers(nowMs).map(({ keyId }) => keyId)).toEqual([second.signingKey.keyId]);
    expect(ring.verifierFor(first.signingKey.keyId, nowMs)).not.toBeNull();
    expect(ring.retire(nowMs + 14 * 86_400_000)).toEqual([first.signingKey.keyId]);
  });

  test("replaces a given one of version 0.1, whose ring does not say where that came from", () => {
    open(first);
    editRing((record) => delete record["given"]);
    expect(open(second).signing.keyId).toBe(second.signingKey.keyId);
  });

  test("does not undo a rotation by command", () => {
    open(first);
    const { key_id: made } = open(first).rotate({ nowMs });
    const again = open(first);
    expect(again.replacedKeyId).toBeNull();
    expect(again.signing.keyId).toBe(made);
    again.retire(nowMs + 14 * 86_400_000);
    expect(open(first).signing.keyId).toBe(made);
  });

  test("leaves a hub that has the old one signing with it, and lets it verify the new one", () => {
    const hub = open(first);
    open(second);
    expect(hub.reload(nowMs)).toBe(true);
    expect(hub.signing.keyId).toBe(first.signingKey.keyId);
    expect(hub.active.key_id).toBe(second.signingKey.keyId);
    expect(hub.verifierFor(second.signingKey.keyId, nowMs)).not.toBeNull();
    expect(open(first).signing.keyId).toBe(first.signingKey.keyId);
    expect(() => open()).toThrow(rejected);
    open(third).retire(nowMs + 14 * 86_400_000);
    expect(() => hub.reload(nowMs + 14 * 86_400_000)).toThrow(rejected);
    expect(hub.signerFor([], nowMs + 14 * 86_400_000)).toBeNull();
  });
});
