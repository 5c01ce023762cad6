import { defineConfig } from "vitest/config";

/** Tests that take minutes because what they are about takes minutes: time is not scaled in them. */
export default defineConfig({
  test: {
    name: "long",
    include: ["test/long/**/*.test.ts"],
    environment: "node",
    pool: "forks",
    fileParallelism: false,
    globalSetup: ["test/run/run-folder.ts"],
    testTimeout: 7_200_000,
    hookTimeout: 240_000,
  },
});
