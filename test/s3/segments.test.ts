import { randomBytes } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { S3Segments } from "../../src/objects/s3/s3-segments.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startedForAll } from "../support/use-hub.ts";

const s3 = startedForAll(startS3Server);
const id = "ab98c0de-0000-4000-8000-abcdef012345";
const clock = { ...systemClock, sleep: async () => {} };
const segments = () => new S3Segments(s3.settings, clock);

beforeEach(() => {
  s3.proxy.fault = undefined;
});

test("an object that does not exist, or is shorter than asked for, cannot be read", async () => {
  const refusal = { code: "FILES_UNAVAILABLE" };
  await expect(segments().read(id, { start: 0, end: 1 })).rejects.toMatchObject(refusal);
  await segments().put(id, randomBytes(10));
  await expect(segments().read(id, { start: 5, end: 11 })).rejects.toMatchObject(refusal);
  await segments().remove(id);
});

test("an object of 8 MiB is put whole, read in any range, and removed, beside the files of tenants", async () => {
  const bytes = randomBytes(8 * 1024 * 1024);
  await segments().put(id, bytes);
  expect(s3.keys()).toEqual([`.outputs/ab/${id}`]);
  for (const [start, end] of [
    [0, bytes.length],
    [1, 2],
    [3_000_000, 4_048_577],
    [5, 5],
  ] as const)
    expect((await segments().read(id, { start, end })).equals(bytes.subarray(start, end))).toBe(true);
  await segments().remove(id);
  await segments().remove(id);
  expect(s3.keys()).toEqual([]);
});
