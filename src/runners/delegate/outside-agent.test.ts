import { expect, test } from "vitest";
import type { RunContext, RunnerDeps } from "../runner.ts";
import { runOutsideAgent } from "./outside-agent.ts";

test("a worker that only accepts the whole cage gives the job of an agent outside it back, before anything is written", async () => {
  const deps = { sandbox: { level: "strict" } } as RunnerDeps;
  const work = { delegation: { chosen: { entry: { name: "roo-code" } } } } as Parameters<
    typeof runOutsideAgent
  >[2];
  // Nothing else of the job is there to be used.
  expect(await runOutsideAgent(deps, {} as RunContext, work)).toEqual({
    kind: "released",
    reason: expect.stringContaining(
      "the agent roo-code runs outside the cage, which isolation strict does not allow",
    ),
  });
});
