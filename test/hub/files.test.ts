import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { makeJobToken, verifyJobToken } from "../../src/signing/job-token.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { editRows, readRows } from "../support/database.ts";
import { endEarlier } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { jobTokenOf, pathOf, presign, put, storedFile, uploadForJob } from "../support/files.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { claimedJob, runningJob } from "../support/jobs.ts";
import { runCommand } from "../support/run-command.ts";
import { startTestWorker } from "../support/worker.ts";

const MiB = 1024 ** 2;
const text = Buffer.from("forty-two");
const key = { folderId: "f", objectKey: "a/b.txt" };
let hub: TestHub;

afterEach(() => hub?.stop().catch(() => {}));

/** How many files the hub's storage has, complete or not. */
function storedCount(home = hub.home): number {
  const all = readdirSync(join(home, "objects"), { recursive: true, withFileTypes: true });
  return all.filter((one) => one.isFile()).length;
}

/** Stops the hub and starts it again on its home. The cleaner's first round is part of a start. */
async function restart(env: Record<string, string> = stillEnv): Promise<void> {
  const { home } = hub;
  await hub.stop({ keepHome: true });
  hub = await startTestHub(env, { home });
}

/** Sends the head of a PUT and a part of its body over a connection of its own, and then nothing. */
async function beginPut(url: string, body: Uint8Array, size: number): Promise<Socket> {
  const { pathname } = new URL(url);
  const socket = connect(hub.port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(`PUT ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n`);
  socket.write(body);
  socket.on("error", () => {});
  return socket;
}

async function arrived(url: { url: string }): Promise<number> {
  return Number((await hub.call("HEAD", pathOf(url))).headers["upload-offset"]);
}

describe("an upload that is cut off", () => {
  const large = Buffer.alloc(3 * MiB, "0123456789abcdef");
  const facts = { size: large.length, sha256: sha256Hex(large) };
  const rest = (start: number) => ({ "Content-Range": `bytes ${start}-${large.length - 1}/${large.length}` });

  test("an upload continues after a broken connection and a restart of the hub, with the right bytes", async () => {
    hub = await startTestHub(stillEnv);
    const [url] = await presign(hub, hub.admin, { ...key, method: "PUT", ...facts });
    const socket = await beginPut(url!.url, large.subarray(0, MiB), large.length);
    await eventually("a mebibyte has arrived", async () => (await arrived(url!)) === MiB);
    socket.destroy();
    await restart();
    const [fresh] = await presign(hub, hub.admin, { ...key, method: "PUT", ...facts });
    expect(await arrived(fresh!)).toBe(MiB);
    const answer = await put(hub, fresh!, large.subarray(MiB), rest(MiB));
    expect(answer).toMatchObject({ status: 201 });
    expect(answer.json()).toEqual(facts);
    const [get] = await presign(hub, hub.admin, { ...key, method: "GET" });
    expect(sha256Hex((await hub.call("GET", pathOf(get!))).bytes)).toBe(facts.sha256);
  });

  test("O-01: leaves nothing beside its file after the hub was killed, and was sent again from the start", async () => {
    const failpoint = (name: string): void => {
      if (name === "upload.beforePublish") throw new Error("killed");
    };
    hub = await startTestHub(stillEnv, { failpoint });
    const [url] = await presign(hub, hub.admin, { ...key, method: "PUT", ...facts });
    expect(await put(hub, url!, large)).toMatchObject({ status: 500 });
    const socket = await beginPut(url!.url, large.subarray(0, MiB), large.length);
    await eventually("a mebibyte has arrived", async () => (await arrived(url!)) === MiB);
    socket.destroy();
    await restart();
    expect(storedCount()).toBe(2);
    const [fresh] = await presign(hub, hub.admin, { ...key, method: "PUT", ...facts });
    expect(await put(hub, fresh!, large)).toMatchObject({ status: 201 });
    expect(storedCount()).toBe(1);
    const [get] = await presign(hub, hub.admin, { ...key, method: "GET" });
    expect(sha256Hex((await hub.call("GET", pathOf(get!))).bytes)).toBe(facts.sha256);
  });

  test("an upload whose connection looks alive does not delay its sender's next try", async () => {
    hub = await startTestHub(stillEnv);
    const [url] = await presign(hub, hub.admin, { ...key, method: "PUT", ...facts });
    const socket = await beginPut(url!.url, large.subarray(0, MiB), large.length);
    onTestFinished(() => void socket.destroy());
    await eventually("a mebibyte has arrived", async () => (await arrived(url!)) === MiB);
    expect(await put(hub, url!, large.subarray(MiB), rest(MiB))).toMatchObject({ status: 201 });
  });

  test("an upload ends when the hub stops", async () => {
    hub = await startTestHub(stillEnv);
    const [url] = await presign(hub, hub.admin, { ...key, method: "PUT", ...facts });
    const socket = await beginPut(url!.url, large.subarray(0, MiB), large.length);
    await eventually("a mebibyte has arrived", async () => (await arrived(url!)) === MiB);
    await hub.stop();
    await eventually("the connection is closed", () => socket.destroyed || socket.readableEnded);
  });
});

describe("the bytes are removed", () => {
  test("the bytes of deleted, replaced and expired files, and of abandoned uploads, are removed", async () => {
    hub = await startTestHub(stillEnv);
    await storedFile(hub, hub.admin, { ...key, bytes: text });
    await storedFile(hub, hub.admin, { ...key, bytes: Buffer.from("another") });
    await storedFile(hub, hub.admin, { folderId: "f", objectKey: "gone", bytes: text });
    await storedFile(hub, hub.admin, { folderId: "f", objectKey: "old", bytes: text });
    const [remove] = await presign(hub, hub.admin, { folderId: "f", objectKey: "gone", method: "DELETE" });
    await hub.must("DELETE", pathOf(remove!));
    const [open] = await presign(hub, hub.admin, {
      folderId: "f",
      objectKey: "open",
      method: "PUT",
      size: 9,
    });
    await put(hub, open!, text.subarray(0, 4), { "Content-Range": "bytes 0-3/9" });
    expect(storedCount()).toBe(5);
    const dayAgo = Date.now() - 86_400_000;
    editRows(hub.home, "UPDATE objects SET expires_at = ? WHERE object_key IN ('old', 'open')", dayAgo);
    await restart();
    await eventually("only one file is left", () => storedCount() === 1);
    await eventually("and its bytes alone are counted", () => {
      const [usage] = readRows(hub.home, "SELECT bytes FROM object_usage");
      return usage?.["bytes"] === "another".length;
    });
    const [get] = await presign(hub, hub.admin, { ...key, method: "GET" });
    expect((await hub.call("GET", pathOf(get!))).text).toBe("another");
  });

  test("the bytes of a job's files are removed with the job, and those that an attempt did not list", async () => {
    hub = await startTestHub(stillEnv);
    const held = await runningJob(hub, { output_location: { folder_id: "f" } });
    const kept = await uploadForJob(hub, held, { ...key, bytes: text });
    await uploadForJob(hub, held, { folderId: "f", objectKey: "unlisted", bytes: text });
    const body = { ...held.fence, result: 1, output_files: [kept] };
    await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
    await restart();
    await eventually("what was not listed is gone", () => storedCount() === 1);
    endEarlier(hub.home, Date.now() - 1);
    await restart();
    await eventually("the job is gone", async () => {
      return (await hub.call("GET", `/jobs/${held.id}`, { token: hub.admin })).status === 404;
    });
    await restart();
    await eventually("and its file", () => storedCount() === 0);
  });

  test("although one before them cannot be removed", async () => {
    hub = await startTestHub(stillEnv);
    await storedFile(hub, hub.admin, { folderId: "f", objectKey: "stuck", bytes: text });
    const [stuck] = readdirSync(join(hub.home, "objects"), { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    await storedFile(hub, hub.admin, { folderId: "f", objectKey: "old", bytes: text });
    rmSync(stuck!);
    mkdirSync(join(stuck!, "something of somebody else"), { recursive: true });
    expect(storedCount()).toBe(1);
    editRows(hub.home, "UPDATE objects SET expires_at = 5 WHERE object_key = 'stuck'");
    editRows(hub.home, "UPDATE objects SET expires_at = 6 WHERE object_key = 'old'");
    await restart();
    await eventually("the other one is gone", () => {
      const left = readRows(hub.home, "SELECT object_key FROM objects").map(({ object_key }) => object_key);
      return storedCount() === 0 && left.join() === "stuck";
    });
  });

  test("the bytes of a running attempt's files stay, however long it runs", async () => {
    hub = await startTestHub(stillEnv);
    const held = await runningJob(hub, { output_location: { folder_id: "f" } });
    const file = await uploadForJob(hub, held, { ...key, bytes: text });
    editRows(hub.home, "UPDATE objects SET expires_at = 5");
    await restart();
    await eventually("it has been looked at", () => {
      const [row] = readRows(hub.home, "SELECT expires_at FROM objects");
      return Number(row!["expires_at"]) > 5;
    });
    const body = { ...held.fence, result: 1, output_files: [file] };
    await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
  });
});

describe("files whose bytes were not restored", () => {
  async function withoutFiles(): Promise<void> {
    await hub.stop({ keepHome: true });
    rmSync(join(hub.home, "objects"), { recursive: true });
    hub = await startTestHub(stillEnv, { home: hub.home });
  }

  test("are answered as removed, and can be stored again", async () => {
    hub = await startTestHub(stillEnv);
    await storedFile(hub, hub.admin, { ...key, bytes: text });
    const [before] = await presign(hub, hub.admin, { ...key, method: "GET" });
    await withoutFiles();
    for (const method of ["GET", "HEAD"]) {
      const ask = { token: hub.admin, body: [{ ...key, method }] };
      const answer = await hub.call("POST", "/files/presigned-urls", ask);
      expect(answer).toMatchObject({ status: 410, code: "FILE_REMOVED" });
      expect(answer.text).toContain("not restored");
    }
    expect(await hub.call("GET", pathOf(before!))).toMatchObject({ status: 410, code: "FILE_REMOVED" });
    const writ = new Writ({ url: hub.url, token: hub.admin });
    onTestFinished(() => writ.close());
    await writ.files.upload(text, { folderId: key.folderId, objectKey: key.objectKey });
    const [after] = await presign(hub, hub.admin, { ...key, method: "GET" });
    expect((await hub.call("GET", pathOf(after!))).text).toBe("forty-two");
  });

  test("are sent again by a client that names them by their hash, and not taken for there", async () => {
    hub = await startTestHub(stillEnv);
    const writ = () => new Writ({ url: hub.url, token: hub.admin });
    await writ().files.upload(text);
    await withoutFiles();
    const { folder_id: folderId, object_key: objectKey } = await writ().files.upload(text);
    const [get] = await presign(hub, hub.admin, { folderId, objectKey, method: "GET" });
    expect((await hub.call("GET", pathOf(get!))).text).toBe("forty-two");
  });

  test("of a job are listed with their hashes, as not available", async () => {
    hub = await startTestHub(stillEnv);
    const held = await runningJob(hub, { output_location: { folder_id: "f" } });
    const file = await uploadForJob(hub, held, { ...key, bytes: text });
    const body = { ...held.fence, result: 1, output_files: [file] };
    await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
    await withoutFiles();
    const list = await hub.must("GET", `/jobs/${held.id}/artifacts`, { token: hub.admin });
    expect(list.json()).toEqual({ files: [{ ...file, path: "a/b.txt", available: false }] });
    const get = await hub.call("GET", `/jobs/${held.id}/artifacts/a/b.txt`, { token: hub.admin });
    expect(get).toMatchObject({ status: 410, code: "FILE_REMOVED" });
    const listed = await runCommand("jobctl", ["artifacts", "list", held.id], { home: hub.home });
    expect(listed.stdout).toMatch(/a\/b\.txt .* removed$/m);
    const saved = await runCommand("jobctl", ["artifacts", "get", held.id], { home: hub.home });
    expect(saved).toMatchObject({ exitCode: 4, stderr: expect.stringContaining("no longer stored") });
  });
});

test("a job token that only a thief of the hub's key can have made locks the hub", async () => {
  hub = await startTestHub(stillEnv);
  const held = await claimedJob(hub, { output_location: { folder_id: "f" } });
  const ring = openKeyRing(join(hub.home, "keys"), { nowMs: Date.now() });
  const token = verifyJobToken(ring, await jobTokenOf(hub, held), Date.now());
  const forged = makeJobToken(ring.signing, { ...token, attempt: 5 });
  const call = { token: forged, body: { success: true } };
  expect(await hub.call("POST", `/docker/jobs/${held.id}/complete`, call)).toMatchObject({ status: 401 });
  await eventually("the hub is locked", async () => {
    const lockdown = await hub.must("GET", "/lockdown", { token: hub.admin });
    return lockdown.json<{ locked: boolean }>().locked;
  });
});

const obstacle = mountObstacle();
const name = "a full disk is answered with 507, nothing of the upload stays, and reads go on";
const fillDisk = async (): Promise<void> => {
  const home = mkdtempSync(join(tmpdir(), "writ-full-files-"));
  const objects = join(home, "objects");
  mkdirSync(objects, { mode: 0o700 });
  mount(objects, "size=2m,mode=0700");
  onTestFinished(() => {
    execFileSync("umount", [objects]);
    rmSync(home, { recursive: true, force: true });
  });
  hub = await startTestHub(stillEnv, { home });
  onTestFinished(() => hub.stop({ keepHome: true }));
  await storedFile(hub, hub.admin, { ...key, bytes: text });
  const large = Buffer.alloc(4 * MiB, "x");
  const [url] = await presign(hub, hub.admin, { folderId: "f", objectKey: "large", method: "PUT" });
  expect(await put(hub, url!, large)).toMatchObject({ status: 507, code: "STORAGE_FULL" });
  expect(storedCount(home)).toBe(1);
  const [get] = await presign(hub, hub.admin, { ...key, method: "GET" });
  expect((await hub.call("GET", pathOf(get!))).text).toBe("forty-two");
  mount(objects, "remount,size=16m");
  expect(await put(hub, url!, large)).toMatchObject({ status: 201 });
};
const inputName = "an input that does not fit on a worker's disk fails the job, and says why";
const fillWorker = async (): Promise<void> => {
  const workDir = mkdtempSync(join(tmpdir(), "writ-full-worker-"));
  mount(workDir, "size=2m,mode=0711");
  hub = await startTestHub(stillEnv);
  const worker = await startTestWorker(hub, { env: { WRIT_WORK_DIR: workDir } });
  onTestFinished(async () => {
    await worker.stop();
    execFileSync("umount", [workDir]);
    rmSync(workDir, { recursive: true });
  });
  const writ = new Writ({ url: hub.url, token: hub.admin });
  onTestFinished(() => writ.close());
  const inputs = [await writ.files.input(Buffer.alloc(4 * MiB, "x"), { path: "large" })];
  const run = { kind: "exec" as const, argv: ["true"], inputs };
  const { id } = await writ.submit({ type: "exec", run, max_attempts: 1 });
  const job = await eventually("the job has ended", async () => {
    const { status, fail_detail, fail_history } = await writ.get(id);
    return status === "failed" && { fail_detail, reason: fail_history[0]?.reason };
  });
  expect(job).toMatchObject({
    fail_detail: "INPUT_UNAVAILABLE",
    reason: expect.stringMatching(/^input large .* the worker cannot write it \(ENOSPC\)$/),
  });
};
for (const [about, fill] of [
  [name, fillDisk],
  [inputName, fillWorker],
] as const) {
  if (obstacle === null) test(about, fill);
  else test.skip(`${about} (not capable: ${obstacle})`, fill);
}

function mount(dir: string, options: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "writ-test", dir], { stdio: "pipe" });
}

/** A small disk of one's own takes root, and a container may forbid it even then. */
function mountObstacle(): string | null {
  const dir = mkdtempSync(join(tmpdir(), "writ-mount-"));
  try {
    mount(dir, "size=1m");
    execFileSync("umount", [dir]);
    return null;
  } catch (error) {
    return `no tmpfs can be mounted: ${(error as Error).message.split("\n").at(-2) ?? "no root"}`;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
