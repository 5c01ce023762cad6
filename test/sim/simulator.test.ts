import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { defects } from "../../sim/defects.ts";

const main = join(import.meta.dirname, "../../sim/main.ts");
const run = promisify(execFile);

/** A minute of one core; a machine that does much else takes many times as long. */
const timeout = 20 * 60_000;

/** In a process of its own: a schedule replaces the time of its process. */
async function sim(...args: string[]): Promise<{ code: number; text: string }> {
  try {
    const { stdout } = await run(process.execPath, [main, ...args], { maxBuffer: 2 ** 26 });
    return { code: 0, text: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, text: stdout + stderr };
  }
}

test("every promise is kept in a thousand schedules", { timeout }, async () => {
  const { code, text } = await sim("--schedules", "1000", "--seed", "1");
  expect(text).toMatch(/^1000 schedules from seed 1: [1-9]\d{3} jobs, /);
  expect(code).toBe(0);
});

test("the same seed gives the same schedule, to the last event", async () => {
  const one = await sim("--schedules", "15", "--seed", "2000", "--story");
  const again = await sim("--schedules", "15", "--seed", "2000", "--story");
  expect(again).toEqual(one);
  // It does not depend on what was played before it either.
  const alone = await sim("--schedules", "1", "--seed", "2009", "--story");
  expect(one.text).toContain(alone.text.slice(0, alone.text.indexOf("\n1 schedules")));
});

test("every mistake that is put in by hand is found within a thousand schedules", { timeout }, async () => {
  const { code, text } = await sim("--self-test", "--schedules", "1000");
  const lines = text.trim().split("\n");
  expect(lines.map((line) => line.split(": found by schedule ")[0])).toEqual(Object.keys(defects));
  expect(Object.keys(defects).length).toBeGreaterThanOrEqual(10);
  expect(code).toBe(0);
});

test("a schedule that breaks a promise is told in the steps that it needs", async () => {
  const { code, text } = await sim("--defect", "leases never end", "--schedules", "100");
  expect(code).toBe(1);
  const [, kept, all] = /^(\d+) of its (\d+) steps are enough:$/m.exec(text)!;
  expect(Number(kept)).toBeLessThan(Number(all));
  expect(text).toContain("something waits for ever");
  expect(text).toMatch(/^again: npm run sim -- --schedules 1 --seed \d+ --defect "leases never end"$/m);
});

test("wrong arguments are refused with what is allowed", async () => {
  expect(await sim("--schedules", "0")).toMatchObject({
    code: 2,
    text: expect.stringContaining('--schedules: "0" is not a whole number from 1 to 10000000'),
  });
  expect(await sim("--defect", "none")).toMatchObject({
    code: 2,
    text: expect.stringContaining("use one of: a submit"),
  });
});
