import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../runtime/clock/clock.ts";
import { createHttpClient, type HttpClient } from "../../runtime/http/http-client.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { parseLease } from "../../signing/lease.ts";
import { FakeHub, offsetConflict, testJob } from "../fake-hub.testing.ts";
import { createHubCalls } from "../hub/hub-calls.ts";
import { HubPresence } from "../hub/hub-presence.ts";
import { shipOutput } from "./output-shipper.ts";

let dir: string;
let path: string;
let hub: FakeHub;
let client: HttpClient;
const lease = parseLease(testJob(1, { kind: "exec", argv: ["true"] }).lease);
const ended = new AbortController();
ended.abort();

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-ship-"));
  path = join(dir, "stdout.log");
  hub = new FakeHub();
  await hub.start();
  client = createHttpClient({ baseUrls: [hub.url] });
});
afterEach(async () => {
  client.close();
  await hub.stop();
  rmSync(dir, { recursive: true, force: true });
});

type ShipOptions = { ended?: AbortSignal; bytesMax?: number; signal?: AbortSignal; presence?: HubPresence };

function ship(options: ShipOptions = {}): Promise<void> {
  const calls = createHubCalls(client, { workerId: "w1", bootId: "b1", timeoutMs: 5_000 });
  const { presence = new HubPresence(silentLogger, systemClock) } = options;
  return shipOutput(
    { clock: systemClock, random: () => 0, presence, calls },
    {
      lease,
      stream: "stdout",
      path,
      bytesMax: options.bytesMax ?? 1024 ** 3,
      ended: options.ended ?? ended.signal,
      signal: options.signal ?? new AbortController().signal,
    },
  );
}

function arrived(): Buffer {
  return hub.outputs.get(`${lease.job_id}/output/stdout`) ?? Buffer.alloc(0);
}

function someBytes(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (index * 31 + (index >> 8)) % 256));
}

test("a lost lease ends the sending of output", async () => {
  writeFileSync(path, "hello");
  hub.intercept = () => ({
    status: 409,
    body: { error: { code: "LEASE_LOST", message: "", request_id: "" } },
  });
  await expect(ship()).rejects.toMatchObject({ code: "LEASE_LOST" });
});

test("a refusal because of the quota is not retried", async () => {
  writeFileSync(path, "hello");
  hub.intercept = () => ({
    status: 429,
    body: { error: { code: "QUOTA_EXCEEDED", message: "", request_id: "" } },
  });
  await expect(ship()).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(hub.calls).toHaveLength(1);
});

test("the signal ends the wait for a hub that is away", async () => {
  writeFileSync(path, "hello");
  hub.intercept = () => ({ status: 503 });
  const controller = new AbortController();
  const shipping = ship({ signal: controller.signal });
  await hub.until(() => hub.calls.length >= 2);
  controller.abort(new Error("given up"));
  await expect(shipping).rejects.toThrow();
});

test("every byte arrives once although the hub fails in between", async () => {
  const bytes = someBytes(1_500_000);
  writeFileSync(path, bytes);
  let turn = 0;
  hub.intercept = () => (turn++ % 3 === 1 ? { status: 503 } : undefined);
  await ship();
  expect(arrived().equals(bytes)).toBe(true);
});

test("a lost answer does not make bytes arrive twice", async () => {
  const bytes = someBytes(700_000);
  writeFileSync(path, bytes);
  // The hub has accepted the first chunk, but its answer was lost.
  hub.outputs.set(`${lease.job_id}/output/stdout`, bytes.subarray(0, 256 * 1024));
  await ship();
  expect(arrived().equals(bytes)).toBe(true);
  expect(hub.calls.map(({ path }) => Number(path.split("=")[1])).slice(0, 2)).toEqual([0, 256 * 1024]);
});

test("a hub that has lost the end of the output receives it again", async () => {
  const bytes = someBytes(600_000);
  writeFileSync(path, bytes);
  let hasForgotten = false;
  hub.intercept = ({ path: called }) => {
    if (hasForgotten || !called.endsWith(`offset=${2 * 256 * 1024}`)) return undefined;
    hasForgotten = true;
    hub.outputs.set(`${lease.job_id}/output/stdout`, bytes.subarray(0, 100));
    return offsetConflict(100);
  };
  await ship();
  expect(arrived().equals(bytes)).toBe(true);
});

test("a hub that lost accepted output while it was away receives it again, although the job writes no more", async () => {
  const over = new AbortController();
  const presence = new HubPresence(silentLogger, systemClock);
  const shipping = ship({ ended: over.signal, presence });
  writeFileSync(path, "hello");
  await hub.until(() => arrived().length === 5);
  hub.outputs.set(`${lease.job_id}/output/stdout`, Buffer.from("he"));
  presence.away(new Error("the power was cut"));
  over.abort();
  await shipping;
  expect(String(arrived())).toBe("hello");
});

test("a hub that was never away is not asked for its size a second time", async () => {
  writeFileSync(path, "hello");
  await ship();
  expect(hub.calls).toHaveLength(1);
});

test("sending continues after a broken connection", async () => {
  const bytes = someBytes(600_000);
  writeFileSync(path, bytes);
  const { port } = hub;
  let restart: Promise<void> | undefined;
  hub.intercept = () => {
    if (restart !== undefined) return undefined;
    restart = hub.stop().then(() => hub.start(port));
    return { status: 503 };
  };
  await ship();
  expect(arrived().equals(bytes)).toBe(true);
});

test("output is sent while it is written, and exactly the allowed bytes arrive", async () => {
  const over = new AbortController();
  const shipping = ship({ ended: over.signal, bytesMax: 8 });
  writeFileSync(path, "abc");
  await hub.until(() => arrived().length === 3);
  appendFileSync(path, "defghijklm");
  await hub.until(() => arrived().length === 8);
  over.abort();
  await shipping;
  expect(String(arrived())).toBe("abcdefgh");
});
