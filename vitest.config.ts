import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { fastOnPostgres, heavyOnPostgres, onPostgres } from "./test/on-postgres/files.ts";
import { LongestFirst } from "./test/run/longest-first.ts";
import { noPostgres } from "./test/support/postgres-cluster.ts";

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

const heavy = [
  "test/e2e/**/*.test.ts",
  "test/faults/**/*.test.ts",
  // Sweeps and races that keep the machine busy for minutes.
  "test/sandbox/*-proofs.test.ts",
];

/**
 * Files share a process, so that our modules are loaded twice and not once for each of them: half of the time. That
 * asks of these tests that they leave nothing behind in their process.
 */
const inTwoProcesses = { maxWorkers: 2, isolate: false };

/** Most of these wait for programs, leases and timers for half of their time: with three, two processors have work. */
const inThreeProcesses = { maxWorkers: 3 };

/** They keep both processors busy by themselves, or kill programs under load. */
const inPairs = { maxWorkers: 2, testTimeout: 600_000 };

/** `npm run test:kernel` runs them, in a machine of their own if need be. */
const kernel = "test/kernel/**";

/** `npm run test:long` runs them; `vitest.long.config.ts` is theirs. */
const long = "test/long/**";

/** Runs test files a second time, each of their hubs with a database of its own on one server. */
const withPostgres = {
  globalSetup: ["test/on-postgres/start-server.ts"],
  setupFiles: ["test/on-postgres/use-server.ts"],
  exclude: [],
};

/**
 * Projects, run one after the other: what is fast and tells most comes first, and what starts whole hubs and kills
 * them comes apart from the rest.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      project("fast", 0, {
        include: ["src/**/*.test.ts", ...quick],
        exclude: [slow],
        ...inTwoProcesses,
      }),
      project("whole", 1, {
        include: [slow, "test/**/*.test.ts"],
        exclude: [...quick, ...heavy, kernel, long],
        globalSetup: ["test/run/run-folder.ts"],
        ...inThreeProcesses,
      }),
      project("heavy", 2, { ...inPairs, include: heavy, exclude: [] }),
      ...(noPostgres === undefined
        ? [
            project("postgres fast", 0, { ...withPostgres, include: fastOnPostgres, ...inTwoProcesses }),
            project("postgres", 1, { ...withPostgres, include: onPostgres, ...inThreeProcesses }),
            project("postgres heavy", 2, { ...withPostgres, ...inPairs, include: heavyOnPostgres }),
          ]
        : []),
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
