import { defineConfig } from "vitest/config";

/** Tests that take minutes because what they are about takes minutes: time is not scaled in them. */
export default defineConfig({
  test: {
    name: "long",
    environment: "node",
    pool: "forks",
    globalSetup: ["test/run/run-folder.ts"],
    include: ["test/long/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 7_200_000,
    hookTimeout: 240_000,
  },
});
