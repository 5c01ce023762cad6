import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { type Cage, type LimitsText, openCage } from "../../src/sandbox/index.ts";
import { cageTest, obstacle } from "./cage-stage.ts";

let dir: string;
let cage: Cage;
beforeEach(async () => {
  if (obstacle !== null) return;
  dir = mkdtempSync(join(tmpdir(), "writ-library-"));
  cage = await openCage({ dir });
});
afterEach(async () => {
  if (obstacle !== null) return;
  await cage.close();
  expect(readdirSync(dir)).toEqual([]);
  rmSync(dir, { recursive: true, force: true });
});

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return String(Buffer.concat(pieces));
}

cageTest("a command that cannot be executed and a job that is not there are refused", async () => {
  await expect(cage.startJob(["no-such-command"])).rejects.toThrow("no-such-command cannot be executed");
  await expect(cage.startJob([])).rejects.toThrow("at least one word");
  await expect(cage.stopJob("x")).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(() => cage.getStatus("x")).toThrow("there is no job x");
});

cageTest("B6: limits that cannot be limits start nothing", async () => {
  const start = (limits: object) => cage.startJob(["true"], limits as LimitsText);
  await expect(start({ cpu: "abc" })).rejects.toThrow('cpu: "abc" is not allowed');
  await expect(start({ memory: "1M" })).rejects.toThrow('memory: "1M" is not allowed');
  await expect(start({ network: "None" })).rejects.toThrow('network: "None" is not allowed');
  await expect(start({ foo: 1 })).rejects.toThrow('"foo" is not the name of a limit');
});

cageTest("output is followed live, from its beginning, by as many as want to", async () => {
  const id = await cage.startJob(["sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two"]);
  const live = cage.streamOutput(id, "stdout")[Symbol.asyncIterator]();
  expect(String((await live.next()).value)).toBe("one\n");
  expect(cage.getStatus(id)).toMatchObject({ state: "running", exitCode: null });
  const other = textOf(cage.streamOutput(id, "stdout"));
  await cage.stopJob(id);
  expect((await live.next()).done).toBe(true);
  expect(await other).toBe("one\n");
  expect(cage.getStatus(id)).toMatchObject({ state: "ended", signal: "SIGTERM", reason: "stopped" });
});

cageTest("a job's end is told with what it used and how it was kept apart", async () => {
  const id = await cage.startJob(["sh", "-c", "echo out; echo err >&2; exit 3"], { pids: 20 });
  expect(await textOf(cage.streamOutput(id, "stdout"))).toBe("out\n");
  expect(await textOf(cage.streamOutput(id, "stderr"))).toBe("err\n");
  expect(cage.getStatus(id)).toMatchObject({
    state: "ended",
    exitCode: 3,
    reason: null,
    usage: { cpu_ms: expect.any(Number) },
    isolation: { level: cage.level, applied: expect.arrayContaining(["jail", "seccomp"]) },
  });
});
