import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Ledger } from "./ledger.ts";

const nowMs = 1_800_000_000_000;
const soonTs = nowMs / 1000 + 60;
let dir: string;
let path: string;
let ledger: Ledger;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-ledger-"));
  path = join(dir, "ledger.log");
  ledger = await Ledger.open(path, () => nowMs);
});
afterEach(async () => {
  await ledger.close();
  rmSync(dir, { recursive: true, force: true });
});

async function admit(
  jobId: string,
  attempt: number,
  { expiresAtTs = soonTs, isBound = false } = {},
): Promise<boolean> {
  const { isNew, saved } = ledger.admit([{ jobId, attempt, expiresAtTs, isBound }]);
  await saved;
  return isNew[0]!;
}

async function reopen(atMs = nowMs): Promise<void> {
  await ledger.close();
  ledger = await Ledger.open(path, () => atMs);
}

test("a later attempt is new, and the same or an older one is not", async () => {
  expect(await admit("a", 2)).toBe(true);
  expect(await admit("a", 2)).toBe(false);
  expect(await admit("a", 1)).toBe(false);
  expect(await admit("a", 3)).toBe(true);
});

test("the same attempt twice in one batch is new only once", async () => {
  const entry = { jobId: "a", attempt: 1, expiresAtTs: soonTs, isBound: false };
  const { isNew, saved } = ledger.admit([entry, entry]);
  await saved;
  expect(isNew).toEqual([true, false]);
});

test("attempts are remembered across restarts", async () => {
  await admit("a", 2);
  await reopen();
  expect(await admit("a", 2)).toBe(false);
  expect(await admit("b", 1)).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a line that was torn by a crash does not damage the next one", async () => {
  await admit("a", 1);
  await ledger.close();
  appendFileSync(path, "b 1");
  ledger = await Ledger.open(path, () => nowMs);
  await admit("c", 1);
  await reopen();
  expect(await admit("a", 1)).toBe(false);
  expect(await admit("c", 1)).toBe(false);
  expect(await admit("b", 1)).toBe(true);
});

test("entries older than thirty days are forgotten", async () => {
  await admit("a", 1);
  await reopen(nowMs + 29 * 86_400_000);
  expect(await admit("a", 1)).toBe(false);
  await reopen(nowMs + 31 * 86_400_000);
  expect(await admit("a", 1)).toBe(true);
});

test("the file is written anew when it has grown large, and keeps the highest attempts", async () => {
  for (let attempt = 1; attempt <= 11; attempt++) {
    const batch = Array.from({ length: 1000 }, (_, job) => ({
      jobId: `j${job}`,
      attempt,
      expiresAtTs: soonTs,
    }));
    await ledger.admit(batch).saved;
  }
  for (let attempt = 12; attempt <= 13; attempt++) {
    const batch = Array.from({ length: 1000 }, (_, job) => ({
      jobId: `j${job}`,
      attempt,
      expiresAtTs: soonTs,
    }));
    await ledger.admit(batch).saved;
  }
  expect(readFileSync(path, "utf8").split("\n").length).toBeLessThan(3000);
  await reopen();
  expect(await admit("j7", 13)).toBe(false);
});

test("an attempt whose lease is bound to this process is remembered, and costs no write", async () => {
  expect(await admit("a", 2, { isBound: true })).toBe(true);
  expect(await admit("a", 2, { isBound: true })).toBe(false);
  expect(await admit("a", 1)).toBe(false);
  expect(await admit("a", 3)).toBe(true);
  expect(await admit("a", 3, { isBound: true })).toBe(false);
  expect(readFileSync(path, "utf8")).toBe(`a 3 ${soonTs}\n`);
});
