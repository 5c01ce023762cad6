import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock as clock } from "../runtime/clock/clock.ts";
import { silentLogger } from "../runtime/log/logger.ts";
import { Worker } from "./index.ts";
import { lockWorkerDir } from "./worker-lock.ts";

test("a second worker in a folder is refused with the advice to use an id and a home of its own", async () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-worker-lock-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const lock = await lockWorkerDir({ clock, logger: silentLogger }, dir);
  onTestFinished(() => lock.release());
  const leaving = new AbortController();
  const told: unknown[] = [];
  const warn = (_: unknown, sentence?: string) => {
    told.push(sentence);
    leaving.abort();
  };
  const waiting = lockWorkerDir({ clock, logger: { ...silentLogger, warn } }, dir, leaving.signal);
  await expect(waiting).rejects.toThrow();
  expect(told).toEqual([
    expect.stringContaining("needs a worker id and a home of its own (`NODE_ID=ID writ worker --home DIR`"),
  ]);
});

test("a worker whose address is refused releases its folder", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "writ-worker-lock-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const worker = new Worker({ url: "http://10.1.2.3:3000", token: "t", workerId: "w1", dataDir });
  await expect(worker.handle("any", () => 1).start()).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  const dir = join(dataDir, "worker");
  mkdirSync(dir, { recursive: true });
  const leaving = new AbortController();
  const logger = { ...silentLogger, warn: () => leaving.abort() };
  await (await lockWorkerDir({ clock, logger }, dir, leaving.signal)).release();
});
