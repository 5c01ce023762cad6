import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Tests start threads and programs that load our sources by themselves; with this cache, types are stripped once and
// not in each of them. It lies in node_modules so that a clean install forgets it.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
  new URL("node_modules/.writ/compile-cache", import.meta.url),
);

const oneAtATime = [
  "test/e2e/**/*.test.ts",
  "test/faults/**/*.test.ts",
  // Sweeps and races that keep the machine busy for minutes.
  "test/sandbox/*-proofs.test.ts",
];

/**
 * Three projects, run one after the other: what is fast and tells most comes first, and what starts whole hubs
 * and kills them has the machine to itself.
 */
export default defineConfig({
  test: {
    projects: [
      project("fast", 0, { include: ["src/**/*.test.ts", "test/architecture/**/*.test.ts"], maxWorkers: 2 }),
      project("whole", 1, {
        include: ["test/**/*.test.ts"],
        exclude: ["test/architecture/**", "test/kernel/**", ...oneAtATime],
        maxWorkers: 2,
      }),
      project("alone", 2, { include: oneAtATime, fileParallelism: false, testTimeout: 600_000 }),
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
      expect: { poll: { timeout: 30_000, interval: 10 } },
      sequence: { groupOrder },
      ...options,
    },
  };
}
