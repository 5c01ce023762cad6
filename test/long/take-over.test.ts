import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeLargeHome } from "../migrate/large-home.ts";

const program = join(import.meta.dirname, "../migrate/take-over-program.ts");
/** What it needs does not depend on how many jobs there are. */
const peakBytesMax = 768 * 1024 ** 2;

test.each([100_000, 1_000_000])(
  "%i jobs in rows are put into frames and verified, in bounded memory",
  async (jobs) => {
    const home = await makeLargeHome(jobs);
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, home], {
      encoding: "utf8",
      maxBuffer: 256 * 1024 ** 2,
    });
    expect([status, stderr]).toEqual([0, ""]);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const taken = lines.at(-1);
    expect(taken).toMatchObject({ done: true, jobs, damaged: [] });
    console.log(
      `${jobs} jobs: estimated ${lines[0].estimate.ms} ms, took ${taken.ms} ms, ${taken.peakBytes} bytes at most`,
    );
    expect(taken.peakBytes).toBeLessThan(peakBytesMax);
  },
);
