import { describe, test } from "vitest";
import { becomeOrdinaryUser, obstacle } from "../sandbox/cage-stage.ts";

/** The tests of coding agents once more, with a worker that is an ordinary user. */
becomeOrdinaryUser();
const parts: [string, () => Promise<unknown>][] = [
  ["an agent", () => import("./delegate.test.ts")],
  ["a hostile agent", () => import("./delegate-hostile.test.ts")],
  ["paths", () => import("./delegate-paths.test.ts")],
  ["an agent outside the cage", () => import("./delegate-outside.test.ts")],
];
for (const [name, load] of parts) {
  // As root, which this process still is then, they run in files of their own.
  if (obstacle !== null) test.skip(`without root, ${name} (not capable: ${obstacle})`, () => {});
  else describe(`without root, ${name}`, () => load().then(() => {}));
}
