import { defineConfig } from "vitest/config";

/** One process, because mutants are tried side by side, and no test after the first that fails. */
export default defineConfig({
  test: {
    environment: "node",
    pool: "forks",
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["test/run/run-folder.ts"],
    maxWorkers: 1,
    isolate: false,
    bail: 1,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000, interval: 10 } },
  },
});
