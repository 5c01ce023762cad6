import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Tests start threads and programs that load our sources by themselves; with this cache, types are stripped once and
// not in each of them. It lies in node_modules so that a clean install forgets it.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
  new URL("node_modules/.writ/compile-cache", import.meta.url),
);

/** Tests beside the sources that take seconds: they derive keys, try thousands of documents or start programs. */
const slow = "src/**/*.slow.test.ts";

/** `npm run check` runs these, and the other tests beside the sources. All of it takes less than a minute on two cores. */
const quick = [
  "test/architecture/**/*.test.ts",
  "test/docs/**/*.test.ts",
  "test/http/**/*.test.ts",
  "test/objects-contract/**/*.test.ts",
  "test/outputs-contract/**/*.test.ts",
  "test/store-contract/sqlite-without-thread.test.ts",
];

const oneAtATime = [
  "test/e2e/**/*.test.ts",
  "test/faults/**/*.test.ts",
  // Sweeps and races that keep the machine busy for minutes.
  "test/sandbox/*-proofs.test.ts",
];

/** `npm run test:kernel` runs them, in a machine of their own if need be. */
const kernel = "test/kernel/**";

/** `npm run test:long` runs them; `vitest.long.config.ts` is theirs. */
const long = "test/long/**";

/**
 * Three projects, run one after the other: what is fast and tells most comes first, and what starts whole hubs
 * and kills them has the machine to itself.
 */
export default defineConfig({
  test: {
    projects: [
      // Files share a process, so that our modules are loaded twice and not once for each of them: half of the time.
      // That asks of these tests that they leave nothing behind in their process.
      project("fast", 0, {
        include: ["src/**/*.test.ts", ...quick],
        exclude: [slow],
        maxWorkers: 2,
        isolate: false,
      }),
      project("whole", 1, {
        include: [slow, "test/**/*.test.ts"],
        exclude: [...quick, ...oneAtATime, kernel, long],
        maxWorkers: 2,
      }),
      project("alone", 2, { include: oneAtATime, exclude: [], fileParallelism: false, testTimeout: 600_000 }),
    ],
  },
});

function project(name: string, groupOrder: number, options: object) {
  return {
    test: {
      name,
      environment: "node" as const,
      pool: "forks" as const,
      // Only what hangs meets these: longer than all the patience inside one test, on a machine that is busy.
      testTimeout: 240_000,
      hookTimeout: 240_000,
      expect: { poll: { timeout: 120_000, interval: 10 } },
      sequence: { groupOrder },
      ...options,
    },
  };
}
