import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { CacheEntries } from "./cache-entries.ts";

function cacheOf(bytesMax: number) {
  const dir = mkdtempSync(join(tmpdir(), "writ-cache-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const clock = handClock();
  const open = (limit = bytesMax) => new CacheEntries({ dir, bytesMax: limit, clock, logger: silentLogger });
  /** A file of 100 bytes that was last used at this time. */
  const put = (tenant: string, digit: string, usedAtMs: number): string => {
    const path = join(dir, tenant, digit.repeat(64));
    mkdirSync(join(dir, tenant), { recursive: true });
    writeFileSync(path, "x".repeat(100));
    utimesSync(path, usedAtMs / 1000, usedAtMs / 1000);
    return path;
  };
  return { dir, clock, open, put };
}

test("files of an earlier process are known in the order of use, and unfinished ones are removed", async () => {
  const { dir, open, put } = cacheOf(250);
  const [newest, oldest, middle] = [put("acme", "a", 3000), put("acme", "b", 1000), put("other", "a", 2000)];
  const unfinished = join(dir, "acme", `.${"c".repeat(64)}.0123456789ab.tmp`);
  const foreign = join(dir, "acme", "notes.txt");
  for (const path of [unfinished, foreign]) writeFileSync(path, "x");
  await open().load();
  expect([newest, oldest, middle, unfinished, foreign].map((path) => existsSync(path))).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
});

test("files in use and new files stay, even if they exceed the limit", async () => {
  const { clock, open, put } = cacheOf(150);
  const entries = open();
  await entries.load();
  const used = put("acme", "a", 1000);
  await entries.add(used, 100);
  await entries.use(used, async () => {
    await clock.pass(10);
    const added = put("acme", "b", 2000);
    await entries.add(added, 100);
    expect([existsSync(used), existsSync(added)]).toEqual([true, true]);
  });
  await clock.pass(10);
  await entries.add(put("acme", "c", 3000), 100);
  expect(readdirSync(join(used, ".."))).toEqual(["c".repeat(64)]);
});

test("a use is remembered across a restart", async () => {
  const { clock, open, put } = cacheOf(1000);
  const [first, second] = [put("acme", "a", 1000), put("acme", "b", 2000)];
  const entries = open();
  await entries.load();
  await clock.pass(10_000);
  await entries.use(first, async () => {});
  await open(150).load();
  expect([existsSync(first), existsSync(second)]).toEqual([true, false]);
});
