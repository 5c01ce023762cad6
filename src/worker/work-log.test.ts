import { expect, test } from "vitest";
import type { RunOutcome } from "../runners/runner.ts";
import { handClock } from "../runtime/clock/hand-clock.testing.ts";
import type { Logger } from "../runtime/log/logger.ts";
import type { HeldJob } from "./claims/held-jobs.ts";
import { WorkLog } from "./work-log.ts";

type Line = { level: string; message: string; facts: Record<string, unknown> };
const levels = ["debug", "info", "warn"];

function open(lowest = "info") {
  const clock = handClock();
  const lines: Line[] = [];
  const at = (level: string) => (facts: Record<string, unknown>, message: string) => {
    if (isLevelEnabled(level)) lines.push({ level, message, facts });
  };
  const isLevelEnabled = (level: string) => levels.indexOf(level) >= levels.indexOf(lowest);
  const logger = { debug: at("debug"), info: at("info"), warn: at("warn"), isLevelEnabled };
  const log = new WorkLog({ clock, logger: logger as unknown as Logger });
  return { log, clock, lines };
}

const held = (id: number): HeldJob =>
  ({
    lease: { job_id: `job ${id}`, attempt: 2 },
    claim: { document: { type: "build" } },
    claimedAtMs: 100,
  }) as unknown as HeldJob;
const succeeded: RunOutcome = { kind: "succeeded", resultJson: "null", exitCode: 0 };
const end = (outcome: RunOutcome = succeeded) =>
  ({ outcome, startedAtMs: 150, endedAtMs: 400, report: "kept" }) as const;

test("O-18 a batch and an end have one line each, with facts and durations", async () => {
  const { log, lines, clock } = open();
  await clock.pass(410);
  log.claimed({ accepted: [held(1), held(2)], refused: 0, returned: 1, verifyMs: 3.4 });
  log.ended(held(1), end());
  const failed = { kind: "failed", code: "TIMEOUT", detail: "IDLE_TIMEOUT", reason: "canary" } as const;
  log.ended(held(2), end(failed));
  expect(lines.map(({ level }) => level)).toEqual(["info", "info", "info"]);
  expect(lines[0]!.facts).toEqual({
    ...{ jobs: 2, job_ids: ["job 1", "job 2"], signature_verified: true, given_back: 1, verify_ms: 3 },
  });
  expect(lines[1]!.facts).toEqual({
    ...{ job_id: "job 1", type: "build", attempt: 2, signature_verified: true },
    ...{ outcome: "completed", exit_code: 0, waited_ms: 50, ran_ms: 250, report_ms: 10 },
  });
  expect(lines[2]!.facts).toMatchObject({ outcome: "failed", code: "TIMEOUT", detail: "IDLE_TIMEOUT" });
  // A job's own reason may be long, and the hub has it.
  expect(JSON.stringify(lines)).not.toContain("canary");
});

test("O-18 above a hundred jobs a second one line a second counts them, and each has a line at DEBUG", async () => {
  const { log, lines, clock } = open("debug");
  const run = (count: number) => {
    for (let id = 0; id < count; id++) log.ended(held(id), end());
  };
  const told = () => lines.splice(0).filter(({ level }) => level === "info");
  run(150);
  expect(lines.filter(({ level }) => level === "debug")).toHaveLength(50);
  expect(told()).toHaveLength(100);
  await clock.pass(1_000);
  expect(told()).toMatchObject([{ facts: { completed: 50 } }]);
  run(300);
  log.claimed({ accepted: [held(1)], refused: 0, returned: 0, verifyMs: 0 });
  expect(told()).toEqual([]);
  await clock.pass(1_000);
  expect(told()).toMatchObject([{ facts: { completed: 300, claimed: 1 } }]);
  // A quiet second is counted too, and after that each job has its line again.
  run(20);
  await clock.pass(1_000);
  expect(told()).toMatchObject([{ facts: { completed: 20 } }]);
  run(20);
  expect(told()).toHaveLength(20);
  await clock.pass(10_000);
  expect(told()).toEqual([]);
});

test("O-18 a busy worker logs its refusals at WARN with the reason too", () => {
  const { log, lines } = open();
  for (let id = 0; id < 150; id++) log.ended(held(id), end());
  lines.splice(0);
  const refused = { kind: "failed", code: "SECURITY_VIOLATION", detail: "REPLAY", reason: "twice" } as const;
  log.ended(held(9), end(refused));
  expect(lines).toMatchObject([
    { level: "warn", facts: { job_id: "job 9", detail: "REPLAY", reason: "twice" } },
  ]);
});

test("O-18 a program's own logger need not report which levels are on", () => {
  const lines: unknown[] = [];
  const logger = { info: (facts: unknown) => lines.push(facts) } as unknown as Logger;
  const log = new WorkLog({ clock: handClock(), logger });
  log.claimed({ accepted: [held(1)], refused: 0, returned: 0, verifyMs: 0 });
  log.ended(held(1), end());
  expect(lines).toHaveLength(2);
});
