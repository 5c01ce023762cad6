import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { AgentCall } from "../../core/agents/agent-use.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import { AgentReporter } from "./report-agent.ts";

const held = { lease: {}, gone: new AbortController() } as HeldJob;
const aCall = (call: number, status: AgentCall["status"] = "completed"): AgentCall => ({
  call,
  tool: "Bash",
  title: `step ${call}`,
  status,
});

/** A hub that takes reports, unless it is away. */
function stage({ announce = async () => {} }: { announce?: () => Promise<void> } = {}) {
  const clock = handClock();
  const hub = { sent: [] as string[][], isAway: false };
  const agent = async (_lease: unknown, calls: readonly AgentCall[]): Promise<void> => {
    if (hub.isAway) throw new Error("the hub is away");
    hub.sent.push(calls.map(({ call, status }) => `${call} ${status}`));
  };
  const reporter = new AgentReporter({ calls: { agent }, clock }, held, announce);
  const pass = async (): Promise<void> => {
    await clock.pass(250);
    await setImmediate();
  };
  return { reporter, hub, pass };
}

test("nothing is sent before the hub knows of the start, and nothing after the end", async () => {
  const announced = Promise.withResolvers<void>();
  const { reporter, hub, pass } = stage({ announce: () => announced.promise });
  reporter.report(aCall(1));
  await pass();
  expect(hub.sent).toEqual([]);
  announced.resolve();
  await reporter.finish();
  reporter.report(aCall(2));
  await pass();
  expect(hub.sent).toEqual([["1 completed"]]);
});

test("calls are sent together, in their order, each with the newest word about it", async () => {
  const { reporter, hub, pass } = stage();
  reporter.report(aCall(1, "running"));
  reporter.report(aCall(2, "running"));
  reporter.report(aCall(1));
  await pass();
  reporter.report(aCall(2));
  await pass();
  await pass();
  expect(hub.sent).toEqual([["1 completed", "2 running"], ["2 completed"]]);
});

test("what is lost goes with the next report, and an older word does not replace a newer one", async () => {
  const { reporter, hub, pass } = stage();
  hub.isAway = true;
  reporter.report(aCall(1, "running"));
  reporter.report(aCall(2, "running"));
  await pass();
  hub.isAway = false;
  reporter.report(aCall(1));
  await reporter.finish();
  expect(hub.sent).toEqual([["1 completed", "2 running"]]);
});

test("a hub that stays away does not hold up the end", async () => {
  const { reporter, hub } = stage();
  hub.isAway = true;
  reporter.report(aCall(1));
  await reporter.finish();
  expect(hub.sent).toEqual([]);
});

test("many calls are sent in several reports", async () => {
  const { reporter, hub } = stage();
  for (let call = 1; call <= 250; call++) reporter.report(aCall(call));
  await reporter.finish();
  expect(hub.sent.map(({ length }) => length)).toEqual([100, 100, 50]);
});
