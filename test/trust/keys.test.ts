import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tryLockFile } from "../../src/runtime/files/file-lock.ts";
import { generateSigningKey, loadVerifyingKey, signText, verifyText } from "../../src/signing/ed25519.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { keySetText, revocationText, signKeySet } from "../../src/signing/key-set.ts";
import { TrustedKeys } from "../../src/worker/hub/trusted-keys.ts";
import { readEvents, snapshot } from "../support/database.ts";
import { readLeaseKey } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { claimJob, freshName, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { startMiddleman } from "../support/middleman.ts";
import { issueToken } from "../support/tokens.ts";
import { activeKey, keyNamed, readRingFile, startTestWorker } from "../support/worker.ts";

const dayMs = 86_400_000;

/** Of small order: under it one signature fits many messages. The second is not the one encoding of its point. */
const weakKeys = [
  ["of small order", "0100000000000000000000000000000000000000000000000000000000000000"],
  ["not canonical", "efffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"],
] as const;

function pemOf(hex: string): string {
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(hex, "hex")]);
  return `-----BEGIN PUBLIC KEY-----\n${der.toString("base64")}\n-----END PUBLIC KEY-----\n`;
}

let hub: TestHub;
beforeEach(async () => {
  hub = await startTestHub(stillEnv);
});
afterEach(() => hub.stop());

type Key = {
  key_id: string;
  public_key: string;
  status: string;
  not_before: number;
  not_after: number | null;
};
type Keys = {
  version: number;
  keys: Key[];
  key_set: { text: string; signatures: { key_id: string; signature: string }[] };
};
type Claim = {
  id: string;
  document: string;
  lease: string;
  key_id: string;
  signature: string;
  lease_signature: string;
  signatures?: { key_id: string; signature: string; lease_signature: string }[];
};

async function keys(): Promise<Keys> {
  return (await hub.must("GET", "/keys", { token: hub.admin })).json<Keys>();
}

async function rotate(body: object = {}): Promise<Key> {
  return (await hub.must("POST", "/keys/rotate", { token: hub.admin, body })).json<Key>();
}

function eventsNamed(...names: string[]) {
  return readEvents(hub.home).filter(({ event }) => names.includes(event));
}

async function claimFor(workerId: string): Promise<Claim> {
  const { type } = await submitJob(hub);
  const body = { worker_id: workerId, types: [type] };
  return (await hub.must("POST", "/jobs/claim", { token: hub.admin, body })).json<Claim>();
}

describe("S-04: a weak key is refused and the old ones stay", () => {
  test.each(weakKeys)("%s, in a registration", async (_what, hex) => {
    const before = snapshot(hub.home);
    const body = { worker_id: freshName("w"), cores: 1, ram_gb: 1, tags: [], public_key: pemOf(hex) };
    const answer = await hub.call("POST", "/workers/register", { token: hub.admin, body });
    expect(answer).toMatchObject({ status: 400, code: "KEY_REJECTED" });
    expect(snapshot(hub.home)).toBe(before);
    expect(eventsNamed("KEY_REJECTED")).toHaveLength(1);
  });

  test.each(weakKeys)("%s, in the ring of a hub that runs", async (_what, hex) => {
    const before = await keys();
    const ring = readRingFile(hub);
    const path = join(hub.home, "keys", "ring.json");
    const edited = structuredClone(ring);
    edited.version++;
    edited.keys[0]!.public_key = pemOf(hex);
    writeFileSync(path, JSON.stringify(edited));
    await eventually("the edited ring to be refused", () => eventsNamed("KEY_REJECTED").length === 1);
    expect(await keys()).toEqual(before);
    expect((await claimFor(await registerWorker(hub))).key_id).toBe(before.keys[0]!.key_id);
    writeFileSync(path, JSON.stringify(ring));
  });

  test("A18: a ring that goes back under a running hub is refused, recorded, and not built upon", async () => {
    const path = join(hub.home, "keys", "ring.json");
    const old = activeKey(hub).keyId;
    const before = readFileSync(path);
    await rotate();
    await hub.must("POST", `/keys/${old}/revoke`, { token: hub.admin, body: {} });
    const rejectedBefore = eventsNamed("KEY_REJECTED").length;
    writeFileSync(path, before);
    await eventually("it is recorded", () => eventsNamed("KEY_REJECTED").length === rejectedBefore + 1);
    await rotate();
    const { version, keys: records } = await keys();
    expect(records.find(({ key_id }) => key_id === old)).toMatchObject({ status: "revoked" });
    expect(version).toBe(readRingFile(hub).version);
    expect(version).toBe(4);
  });

  test.each(weakKeys)("%s, as what a worker is told to trust", async (_what, hex) => {
    const started = startTestWorker(hub, { signingKeys: [pemOf(hex)] });
    await expect(started).rejects.toMatchObject({ code: "KEY_REJECTED" });
  });

  test.each(weakKeys)("%s, in a key set that a trusted key has signed", async (_what, hex) => {
    const root = generateSigningKey().signingKey;
    const trusted = await openTrusted([root.publicKeyPem]);
    const good = {
      key_id: root.keyId,
      public_key: root.publicKeyPem,
      status: "active",
      not_before: 0,
      not_after: null,
    } as const;
    const bad = { ...good, key_id: "0".repeat(16), public_key: pemOf(hex) };
    const text = keySetText({ version: 2, keys: [good, bad] });
    await expect(trusted.take(signKeySet(text, [root]))).rejects.toMatchObject({ code: "KEY_REJECTED" });
    expect(trusted.trusted().map(({ keyId }) => keyId)).toEqual([root.keyId]);
  });
});

describe("a rotation", () => {
  test("is not for a tenant's administrator, and changes nothing", async () => {
    const { token } = await issueToken(hub, { role: "admin", tenant_id: "acme", user_id: "ada" });
    const before = readRingFile(hub);
    expect(await hub.call("POST", "/keys/rotate", { token, body: {} })).toMatchObject({ status: 403 });
    expect(readRingFile(hub)).toEqual(before);
  });

  test("has a notice only in an emergency", async () => {
    const body = { notice_sec: 60 };
    const answer = await hub.call("POST", "/keys/rotate", { token: hub.admin, body });
    expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(readRingFile(hub).version).toBe(1);
  });

  test("makes a new key, keeps the old one for 14 days, and is on the record", async () => {
    const old = activeKey(hub).keyId;
    const made = await rotate();
    const { version, keys: records, key_set } = await keys();
    expect(version).toBe(2);
    expect(records.map(({ key_id, status }) => [key_id, status])).toEqual([
      [old, "retiring"],
      [made.key_id, "active"],
    ]);
    expect(records[0]!.not_after! - made.not_before).toBe(14 * dayMs);
    expect(key_set.signatures.map(({ key_id }) => key_id)).toEqual([made.key_id, old]);
    for (const { key_id, signature } of key_set.signatures) {
      const { public_key } = records.find((record) => record.key_id === key_id)!;
      expect(verifyText(loadVerifyingKey(public_key), key_set.text, signature)).toBe(true);
    }
    expect(eventsNamed("KEY_ROTATED")).toMatchObject([
      { details: { key_id: made.key_id, previous_key_id: old } },
    ]);
    expect(statSync(join(hub.home, "keys", "ring.json")).mode & 0o777).toBe(0o600);
    // The file of the lock stays; removing it would take the lock away from its holder.
    expect(readdirSync(join(hub.home, "keys")).filter((name) => /lock|tmp/.test(name))).toEqual([
      "keys.lock",
    ]);
  });

  test("F-52: claims carry both signatures, first that of the newest key that the worker has named", async () => {
    const old = activeKey(hub).keyId;
    const made = (await rotate()).key_id;
    const cases = [
      { key_ids: [old, made], first: made },
      { key_ids: [old], first: old },
      { key_ids: undefined, first: old },
    ];
    for (const { key_ids, first } of cases) {
      const claim = await claimFor(await registerWorker(hub, { key_ids }));
      expect(claim.key_id).toBe(first);
      expect(claim.signatures?.map(({ key_id }) => key_id).sort()).toEqual([old, made].sort());
      for (const { key_id, signature, lease_signature } of [claim, ...claim.signatures!]) {
        const key = loadVerifyingKey(keyNamed(hub, key_id).publicKeyPem);
        expect(verifyText(key, claim.document, signature)).toBe(true);
        expect(verifyText(key, claim.lease, lease_signature)).toBe(true);
      }
    }
  });

  test("F-52: a worker learns the new key while it runs, and works through rotation after rotation", async () => {
    const type = freshName("through");
    const worker = await startTestWorker(hub, { types: [type] });
    const root = activeKey(hub).keyId;
    for (let turn = 1; turn <= 3; turn++) {
      const { key_id } = await rotate();
      const claimKey = await eventually("a job under the new key", async () => {
        const { id } = await submitJob(hub, { type });
        await eventually("the job to end", async () => {
          const job = await hub.must("GET", `/jobs/${id}`, { token: hub.admin });
          return job.json<{ status: string }>().status === "completed";
        });
        return leaseKey(id) === key_id;
      });
      expect(claimKey).toBe(true);
    }
    expect(eventsNamed("SECURITY_VIOLATION", "INVALID_SIGNATURE")).toEqual([]);
    const kept = join(worker.home, "worker", "trusted-keys.json");
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(readFileSync(kept, "utf8")).toContain(root);
    await worker.stop();
  });

  test("O-16: a hub that is started with another JOB_SIGNING_PRIVATE_KEY rotates to it, and says so", async () => {
    const old = activeKey(hub).keyId;
    const held = await claimFor(await registerWorker(hub));
    expect(held.key_id).toBe(old);
    await hub.stop({ keepHome: true });
    const { signingKey, privateKeyPem } = generateSigningKey();
    const env = { ...stillEnv, JOB_SIGNING_PRIVATE_KEY: privateKeyPem.replaceAll("\n", "\\n") };
    hub = await startTestHub(env, { home: hub.home });
    const { keys: records } = await keys();
    expect(records).toMatchObject([
      { key_id: old, status: "retiring" },
      { key_id: signingKey.keyId, status: "active" },
    ]);
    expect(records[0]!.not_after! - records[1]!.not_before).toBe(14 * dayMs);
    const next = await claimFor(await registerWorker(hub));
    expect(next.signatures?.map(({ key_id }) => key_id).sort()).toEqual([signingKey.keyId, old].sort());
    expect(eventsNamed("KEY_ROTATED").map(({ details }) => details)).toMatchObject([
      { key_id: signingKey.keyId, previous_key_id: old, emergency: false },
    ]);
  });

  test("two hubs on one directory: each sees the other's change, and a lock that is held is respected", async () => {
    const dir = join(mkdtempSync(join(tmpdir(), "writ-two-")), "keys");
    const [one, other] = [openKeyRing(dir, { nowMs: 1 }), openKeyRing(dir, { nowMs: 1 })];
    const made = one.rotate({ nowMs: 2 });
    expect(other.version).toBe(1);
    expect(other.reload(3)).toBe(true);
    expect(other.signing.keyId).toBe(made.key_id);
    other.rotate({ nowMs: 4 });
    // The first has not looked yet; what it writes still builds on what is there.
    one.rotate({ nowMs: 5 });
    expect(one.version).toBe(4);
    expect(one.list()).toHaveLength(4);
    const lock = tryLockFile(join(dir, "keys.lock"));
    expect(() => one.rotate({ nowMs: 6 })).toThrow(expect.objectContaining({ code: "STATE_CONFLICT" }));
    expect(readdirSync(dir).filter((name) => name.startsWith("signing-"))).toHaveLength(4);
    lock?.release();
    expect(readdirSync(dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    rmSync(join(dir, ".."), { recursive: true, force: true });
  });

  test("after 90 days it is due: the hub says so", async () => {
    const home = hub.home;
    await hub.stop({ keepHome: true });
    const path = join(home, "keys", "ring.json");
    const ring = JSON.parse(readFileSync(path, "utf8"));
    ring.keys[0].not_before = Date.now() - 91 * dayMs;
    writeFileSync(path, JSON.stringify(ring));
    hub = await startTestHub(stillEnv, { home });
    const [due] = await eventually("the reminder", () => {
      const events = eventsNamed("KEY_ROTATION_DUE");
      return events.length > 0 && events;
    });
    expect(due!.details).toMatchObject({ key_id: ring.keys[0].key_id, age_days: 91 });
  });
});

describe("an emergency", () => {
  test("voids the leases of the old key without charge, tells the workers and removes the private key", async () => {
    const old = activeKey(hub).keyId;
    const held = await runningJob(hub);
    const made = await rotate({ emergency: true });
    const job = (await hub.must("GET", `/jobs/${held.id}`, { token: hub.admin })).json();
    expect(job).toMatchObject({
      status: "pending",
      attempts: 0,
      attempt: 1,
      worker_id: null,
      fail_history: [],
    });
    const start = await hub.call("POST", `/jobs/${held.id}/start`, { token: hub.admin, body: held.fence });
    expect(start).toMatchObject({ status: 409, code: "LEASE_LOST" });
    expect(eventsNamed("JOB_RELEASED").at(-1)?.details).toMatchObject({
      by: "hub",
      reason: expect.stringContaining(old),
    });
    expect((await keys()).keys.find(({ key_id }) => key_id === old)).toMatchObject({ status: "revoked" });
    expect(existsSync(join(hub.home, "keys", `signing-${old}.pem`))).toBe(false);
    const workerId = await registerWorker(hub);
    const again = await claimJob(hub, { workerId, type: held.type });
    expect(again.fence.attempt).toBe(2);
    expect(leaseKey(held.id)).toBe(made.key_id);
  });

  test("B12: leaves no older key that may sign, and voids the leases of all of them", async () => {
    const oldest = activeKey(hub).keyId;
    const held = await runningJob(hub);
    await rotate();
    const made = await rotate({ emergency: true });
    const { keys: all } = await keys();
    expect(all.filter(({ status }) => status !== "revoked").map(({ key_id }) => key_id)).toEqual([
      made.key_id,
    ]);
    expect(existsSync(join(hub.home, "keys", `signing-${oldest}.pem`))).toBe(false);
    const job = (await hub.must("GET", `/jobs/${held.id}`, { token: hub.admin })).json();
    expect(job).toMatchObject({ status: "pending", attempts: 0 });
  });

  test("stops what a real worker runs under the old key", async () => {
    const type = freshName("long");
    const worker = await startTestWorker(hub, { types: [type] });
    const mark = join(worker.home, "begun");
    const argv = ["sh", "-c", `echo $$ > ${mark}; exec sleep 600`];
    const { id } = await submitJob(hub, { type, run: { kind: "exec", argv }, timeout_sec: 3600 });
    // The shell makes the file before it writes into it; a number counts when its line is whole.
    const pid = await eventually("the job to run", () => {
      const said = existsSync(mark) ? readFileSync(mark, "utf8") : "";
      return said.endsWith("\n") && Number(said);
    });
    await rotate({ emergency: true });
    await eventually("its process to be gone", () => !isAlive(pid));
    const job = (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json();
    expect(job).toMatchObject({ status: "pending", attempts: 0 });
    // The worker has dropped the only key that it had, and no key of its own vouches for the new one.
    await eventually("the worker to drop the key", () =>
      readFileSync(join(worker.home, "worker", "trusted-keys.json"), "utf8").includes('"revoked":["'),
    );
    await worker.stop();
  });

  test("with a notice lets the old key live until then, and voids its leases at its end", async () => {
    const old = activeKey(hub).keyId;
    const held = await runningJob(hub);
    await rotate({ emergency: true, notice_sec: 3 });
    expect((await keys()).keys[0]).toMatchObject({ key_id: old, status: "retiring" });
    await eventually("the key to be revoked", async () => (await keys()).keys[0]!.status === "revoked");
    const job = await eventually("the lease to be void", async () => {
      const now = (await hub.must("GET", `/jobs/${held.id}`, { token: hub.admin })).json<{
        status: string;
      }>();
      return now.status === "pending" && now;
    });
    expect(job).toMatchObject({ attempts: 0 });
  });
});

describe("revoking", () => {
  test("the key that signs now is refused, and so is one that is not there", async () => {
    const before = readRingFile(hub);
    const revoke = (id: string) =>
      hub.call("POST", `/keys/${id}/revoke`, { token: hub.admin, body: { now: true } });
    expect(await revoke(activeKey(hub).keyId)).toMatchObject({ status: 409, code: "STATE_CONFLICT" });
    expect(await revoke("0".repeat(16))).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect(readRingFile(hub)).toEqual(before);
  });

  test("without now the leases live on, with now they are void", async () => {
    const old = activeKey(hub).keyId;
    const held = await runningJob(hub);
    await rotate();
    await hub.must("POST", `/keys/${old}/revoke`, { token: hub.admin, body: {} });
    const status = async () =>
      (await hub.must("GET", `/jobs/${held.id}`, { token: hub.admin })).json<{ status: string }>().status;
    expect(await status()).toBe("running");
    await hub.must("POST", `/keys/${old}/revoke`, { token: hub.admin, body: { now: true } });
    expect(await status()).toBe("pending");
  });

  test("only the leases of that key", async () => {
    const old = activeKey(hub).keyId;
    const before = await runningJob(hub);
    const made = await rotate();
    const workerId = await registerWorker(hub, { key_ids: [made.key_id] });
    const after = await runningJob(hub, { workerId });
    await hub.must("POST", `/keys/${old}/revoke`, { token: hub.admin, body: { now: true } });
    const status = async (id: string) =>
      (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<{ status: string }>().status;
    expect([await status(before.id), await status(after.id)]).toEqual(["pending", "running"]);
  });
});

describe("what a worker takes for a key set", () => {
  const root = generateSigningKey().signingKey;
  const next = generateSigningKey().signingKey;
  const stranger = generateSigningKey().signingKey;
  const record = (key: typeof root, more: object = {}) =>
    ({
      key_id: key.keyId,
      public_key: key.publicKeyPem,
      status: "active",
      not_before: 0,
      not_after: null,
      ...more,
    }) as Key & {
      status: "active";
    };
  const ids = (trusted: TrustedKeys) => trusted.trusted().map(({ keyId }) => keyId);
  const setOf = (version: number, list: ReturnType<typeof record>[], by: (typeof root)[]) =>
    signKeySet(keySetText({ version, keys: list }), by);

  test("not one that a stranger signed, however new it is", async () => {
    const trusted = await openTrusted([root.publicKeyPem]);
    const forged = setOf(9, [record(stranger)], [stranger]);
    await expect(trusted.take(forged)).rejects.toMatchObject({ code: "KEY_NOT_TRUSTED" });
    const relabelled = {
      ...forged,
      signatures: [{ key_id: root.keyId, signature: signText(stranger, forged.text) }],
    };
    await expect(trusted.take(relabelled)).rejects.toMatchObject({ code: "KEY_NOT_TRUSTED" });
    expect(ids(trusted)).toEqual([root.keyId]);
    expect(trusted.version).toBe(0);
  });

  test("never an older one, also after a restart; the same one changes nothing", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "writ-trusted-")), "trusted-keys.json");
    const first = await openTrusted([root.publicKeyPem], path);
    const newer = setOf(3, [record(root, { status: "revoked", not_after: 1 }), record(next)], [root, next]);
    expect(await first.take(newer)).toBe(true);
    expect(ids(first)).toEqual([next.keyId]);
    const again = await openTrusted([root.publicKeyPem], path);
    expect(ids(again)).toEqual([next.keyId]);
    expect(await again.take(setOf(3, [record(next)], [next]))).toBe(false);
    // The old set is rightly signed by a key that counts, and still it is refused.
    const older = setOf(2, [record(root), record(next)], [next]);
    await expect(again.take(older)).rejects.toMatchObject({ code: "KEY_NOT_TRUSTED" });
    // A revoked key vouches for nothing.
    await expect(again.take(setOf(4, [record(root)], [root]))).rejects.toMatchObject({
      code: "KEY_NOT_TRUSTED",
    });
    expect(ids(again)).toEqual([next.keyId]);
  });

  test("two answers of the hub at once: neither the newer set nor the revocation is forgotten", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "writ-trusted-")), "trusted-keys.json");
    const trusted = await openTrusted([root.publicKeyPem, stranger.publicKeyPem], path);
    const revocation = {
      key_id: stranger.keyId,
      signature: signText(stranger, revocationText(stranger.keyId)),
    };
    const answers = await Promise.allSettled([
      trusted.take(setOf(3, [record(root, { status: "revoked", not_after: 1 }), record(next)], [root, next])),
      trusted.drop([revocation]),
      trusted.take(setOf(2, [record(root), record(next)], [root, next])),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    for (const keys of [trusted, await openTrusted([root.publicKeyPem, stranger.publicKeyPem], path)]) {
      expect(keys.version).toBe(3);
      expect(ids(keys)).toEqual([next.keyId]);
    }
  });

  test("a retired key counts until its time is over, and then no more", async () => {
    const trusted = await openTrusted([root.publicKeyPem]);
    const now = Date.now();
    await trusted.take(
      setOf(2, [record(root, { status: "retiring", not_after: now + 60_000 }), record(next)], [root]),
    );
    expect(ids(trusted)).toEqual([root.keyId, next.keyId]);
    await trusted.take(
      setOf(3, [record(root, { status: "retiring", not_after: now - 60_000 }), record(next)], [next]),
    );
    expect(ids(trusted)).toEqual([next.keyId]);
  });

  test("a key's own revocation ends it and brings in no other key; another key's signature does not end it", async () => {
    const trusted = await openTrusted([root.publicKeyPem, next.publicKeyPem]);
    const text = `{"revoke":"${root.keyId}"}`;
    expect(await trusted.drop([{ key_id: root.keyId, signature: signText(stranger, text) }])).toBe(false);
    expect(await trusted.drop([{ key_id: root.keyId, signature: signText(next, text) }])).toBe(false);
    expect(await trusted.drop([{ key_id: root.keyId, signature: signText(root, text) }])).toBe(true);
    expect(ids(trusted)).toEqual([next.keyId]);
  });

  test("a hub whose answer is replaced on its way cannot bring in a key", async () => {
    const middleman = await startMiddleman(hub.port);
    middleman.onKeys = (answer) => ({
      ...answer,
      keys: [record(stranger)],
      key_set: setOf(99, [record(stranger)], [stranger]),
    });
    const type = freshName("between");
    const worker = await startTestWorker(hub, { url: middleman.url, types: [type] });
    const { id } = await submitJob(hub, { type });
    await eventually("the job to end", async () => {
      const job = await hub.must("GET", `/jobs/${id}`, { token: hub.admin });
      return job.json<{ status: string }>().status === "completed";
    });
    expect(existsSync(join(worker.home, "worker", "trusted-keys.json"))).toBe(false);
    await worker.stop();
    await middleman.stop();
  });
});

function openTrusted(roots: string[], path?: string): Promise<TrustedKeys> {
  const file = path ?? join(mkdtempSync(join(tmpdir(), "writ-trusted-")), "trusted-keys.json");
  return TrustedKeys.open({ path: file, roots, nowMs: () => Date.now() });
}

const leaseKey = (jobId: string) => readLeaseKey(hub.home, jobId);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
