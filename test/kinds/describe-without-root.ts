import { describe, test } from "vitest";
import { becomeOrdinaryUser, obstacle } from "../sandbox/cage-stage.ts";
import { tryOnlyMode } from "./hostile-modes.ts";

type Part = [name: string, load: () => Promise<unknown>];

/** What builds a cage, and what a cage withstands. */
const ofCage: Part[] = [
  ["an agent", () => import("./delegate.test.ts")],
  ["the task of an agent", () => import("./delegate-task.test.ts")],
  ["a hostile agent", () => import("./delegate-hostile.test.ts")],
];
/** What is refused before there is a cage, or has none: the user makes no difference for most of it. */
const others: Part[] = [
  ["paths", () => import("./delegate-paths.test.ts")],
  ["an agent outside the cage", () => import("./delegate-outside.test.ts")],
];

/**
 * The tests of coding agents once more, with a worker that is an ordinary user. `npm test` tries each attack in place, where
 * only the cage protects the repository; `isWhole` tries them on a copy too, and adds the rest.
 */
export function describeWithoutRoot({ isWhole }: { isWhole: boolean }): void {
  becomeOrdinaryUser();
  if (!isWhole) tryOnlyMode("in-place");
  for (const [name, load] of isWhole ? [...ofCage, ...others] : ofCage) {
    // As root, which this process still is then, they run in files of their own.
    if (obstacle !== null) test.skip(`without root, ${name} (not capable: ${obstacle})`, () => {});
    else describe(`without root, ${name}`, () => load().then(() => {}));
  }
}
