import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FifoStock } from "./fifo-stock.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "writ-fifos-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("pipes that could not be created are created at the next request", async () => {
  const place = join(root, "process");
  const stock = new FifoStock(join(place, "pipes"));
  writeFileSync(place, "in the way");
  const first = await Promise.allSettled([stock.take(), stock.take()]);
  expect(first.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  rmSync(place);
  const pipes = await Promise.all([stock.take(), stock.take()]);
  expect(new Set(pipes).size).toBe(2);
  for (const pipe of pipes) expect(statSync(pipe).isFIFO()).toBe(true);
});
