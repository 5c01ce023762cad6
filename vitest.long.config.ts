import { defineConfig } from "vitest/config";
import { longOnFrames } from "./test/on-frames/files.ts";

const settings = {
  environment: "node" as const,
  pool: "forks" as const,
  globalSetup: ["test/run/run-folder.ts"],
  hookTimeout: 240_000,
};

/** Tests that take minutes because what they are about takes minutes: time is not scaled in them. */
const long = {
  ...settings,
  name: "long",
  include: ["test/long/**/*.test.ts"],
  fileParallelism: false,
  testTimeout: 7_200_000,
};

/** Tests of hubs once more, with their jobs in group frames. */
const onFrames = {
  ...settings,
  name: "frames",
  include: longOnFrames,
  setupFiles: ["test/on-frames/use-frames.ts"],
  maxWorkers: 2,
  testTimeout: 600_000,
  expect: { poll: { timeout: 120_000, interval: 10 } },
};

export default defineConfig({ test: { projects: [{ test: long }, { test: onFrames }] } });
