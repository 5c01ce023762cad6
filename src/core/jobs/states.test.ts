import { describe, expect, it } from "vitest";
import { endedStates, jobStates } from "./job.ts";
import { isAllowed, leadsTo, transitions } from "./states.ts";

describe("the table of states", () => {
  it("names each pair of act and state once", () => {
    const pairs = transitions.flatMap(({ act, from }) => from.map((state) => `${act} ${state}`));
    expect(new Set(pairs).size).toBe(pairs.length);
  });

  it("lets nothing leave an end but a person's retry, and nothing at all leave completed", () => {
    for (const { act, from } of transitions) {
      const leaves = from.some((state) => (endedStates as readonly string[]).includes(state));
      expect(leaves).toBe(act === "retry");
    }
    expect(isAllowed("retry", "completed")).toBe(false);
  });

  it("leads to completed by a result only, and to assigned from pending by a claim only", () => {
    const to = (state: string) => transitions.filter((row) => (row.to as readonly string[]).includes(state));
    expect(to("completed").map(({ act }) => act)).toEqual(["result"]);
    const fromPending = to("assigned").filter((row) => (row.from as readonly string[]).includes("pending"));
    expect(fromPending.map(({ act }) => act)).toEqual(["claim"]);
  });

  it("reaches every state", () => {
    const reached = new Set<string>(["pending"]);
    for (let round = 0; round < jobStates.length; round++) {
      for (const { from, to } of transitions) {
        if (from.some((state) => reached.has(state))) for (const state of to) reached.add(state);
      }
    }
    expect([...reached].sort()).toEqual([...jobStates].sort());
  });

  it("answers for single steps", () => {
    expect(leadsTo("fail", "running", "quarantined")).toBe(true);
    expect(leadsTo("fail", "running", "completed")).toBe(false);
    expect(leadsTo("start", "pending", "running")).toBe(false);
  });
});
