import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LogPause } from "./log-pause.ts";

const longBytes = 81 * 1024 ** 2;

/** A database whose log is this long; the file is sparse. */
function withLog(bytes: number): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-log-pause-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const database = join(dir, "writ.sqlite");
  writeFileSync(`${database}-wal`, "");
  truncateSync(`${database}-wal`, bytes);
  return database;
}

function pausedMs(pause: LogPause): number {
  const startedAt = performance.now();
  pause.pauseIfLong();
  return performance.now() - startedAt;
}

test("reads pause while the log is long, for a while and not for ever", () => {
  expect(pausedMs(new LogPause(withLog(longBytes)))).toBeGreaterThanOrEqual(99);
});

test("a log that is short or not there stops no read: of many looks, one at least is quicker than a pause", () => {
  for (const database of [withLog(4096), "/nonexistent/writ.sqlite"]) {
    const looks = Array.from({ length: 50 }, () => pausedMs(new LogPause(database)));
    expect(Math.min(...looks)).toBeLessThan(99);
  }
});

test("after a pause the next reads are not held up again at once", () => {
  const pause = new LogPause(withLog(longBytes));
  pause.pauseIfLong();
  const looks = Array.from({ length: 50 }, () => pausedMs(pause));
  expect(Math.min(...looks)).toBeLessThan(99);
});
