import { expect, onTestFinished, test } from "vitest";
import type { Why } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import { handClock } from "../../../runtime/clock/hand-clock.testing.ts";
import { WaitNotices } from "./wait-notices.ts";

const why: Why = {
  status: "pending",
  summary: "No worker is registered; start one with `writ worker`.",
  position: 1,
  retry_due_at: null,
  paused: false,
  held_by: "no_worker",
  workers: [],
};

function open(isTTY: boolean) {
  const clock = handClock();
  const scene = { answer: why as Why | Error, lines: [] as string[], asked: 0 };
  const stderr = { isTTY, write: (line: string) => scene.lines.push(line) > 0 };
  const notices = new WaitNotices({
    context: { program: "jobctl", stderr: stderr as never },
    clock,
    why: async () => {
      scene.asked++;
      if (scene.answer instanceof Error) throw scene.answer;
      return scene.answer;
    },
  });
  onTestFinished(() => notices.stop());
  return { clock, scene, notices };
}

test("C2: on a terminal the reason is printed after two seconds, and not again while it stays", async () => {
  const { clock, scene } = open(true);
  await clock.pass(1_999);
  expect(scene.lines).toEqual([]);
  await clock.pass(1);
  expect(scene.lines).toEqual([`jobctl: waiting: ${why.summary}\n`]);
  await clock.pass(60_000);
  expect(scene.lines).toHaveLength(1);
});

test("C2: in a pipe the reason is printed after thirty seconds", async () => {
  const { clock, scene } = open(false);
  await clock.pass(29_999);
  expect(scene.asked).toBe(0);
  await clock.pass(1);
  expect(scene.lines).toHaveLength(1);
});

test("C2: a new reason is printed, and a changed place in the queue is not", async () => {
  const { clock, scene } = open(true);
  await clock.pass(2_000);
  scene.answer = { ...why, held_by: "queue", summary: "3 jobs are before it in its queue." };
  await clock.pass(5_000);
  scene.answer = { ...why, held_by: "queue", summary: "2 jobs are before it in its queue." };
  await clock.pass(5_000);
  scene.answer = { ...why, held_by: "retry", retry_due_at: 5, summary: "It is tried again at 12:03." };
  await clock.pass(5_000);
  expect(scene.lines.slice(1)).toEqual([
    "jobctl: waiting: 3 jobs are before it in its queue.\n",
    "jobctl: waiting: It is tried again at 12:03.\n",
  ]);
});

test("C2: a job that runs is not asked about until it may wait again", async () => {
  const { clock, scene, notices } = open(true);
  scene.answer = { ...why, status: "running", held_by: null };
  await clock.pass(60_000);
  expect([scene.asked, scene.lines]).toEqual([1, []]);
  scene.answer = why;
  notices.lookAgain();
  await new Promise((resolve) => setImmediate(resolve));
  await clock.pass(2_000);
  expect(scene.lines).toHaveLength(1);
});

test("C2: a line says that the hub is away, and another that it is back", async () => {
  const { clock, scene, notices } = open(true);
  scene.answer = new WritError("HUB_UNREACHABLE", "no hub can be reached");
  await clock.pass(60_000);
  expect(scene.lines).toEqual(["jobctl: waiting: no hub can be reached; trying again\n"]);
  scene.answer = { ...why, status: "running", held_by: null };
  await clock.pass(5_000);
  expect(scene.lines.slice(1)).toEqual(["jobctl: the hub is back\n"]);
  notices.stop();
});

test("C2: after a refusal nothing is printed, and the hub is not asked again", async () => {
  const { clock, scene } = open(true);
  scene.answer = new WritError("PERMISSION_DENIED", "no");
  await clock.pass(60_000);
  expect([scene.asked, scene.lines]).toEqual([1, []]);
});
