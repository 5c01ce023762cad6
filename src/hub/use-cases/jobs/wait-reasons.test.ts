import { expect, test } from "vitest";
import { aJob, nowMs } from "../../../core/jobs/job.testing.ts";
import { type JudgedWorker, nextText, type Waiting, waitReasons } from "./wait-reasons.ts";

const worker: JudgedWorker = { id: "w1", misfits: [], unavailable: null, isFull: false };

/** A job that is about to start, with these changes. */
function waiting(parts: Partial<Waiting> = {}): Waiting {
  const job = aJob("pending", { createdAt: nowMs, runAt: nowMs });
  return {
    job,
    nowMs,
    lockdown: null,
    isPaused: false,
    quota: {},
    running: 0,
    ahead: 0,
    lanes: [],
    workers: [worker],
    ...parts,
  };
}

const failed = { code: "TIMEOUT", reason: "ran too long", detail: null, worker_id: "w1", ts: 1 } as const;
const retried = aJob("pending", {
  attempt: 4,
  attempts: 1,
  runAt: nowMs + 1000,
  failHistory: [{ ...failed, reason: "ran\n too long\n", attempt: 4 }],
});

test.each<[string, Partial<Waiting>, string, RegExp]>([
  [
    "the hub is locked",
    { lockdown: { reason: "a leak", tenantId: null } },
    "lockdown",
    /hub .*a leak.*--lift`/,
  ],
  ["its tenant is locked", { lockdown: { reason: "r", tenantId: "acme" } }, "lockdown", /--tenant acme`/],
  [
    "a lane of it is full",
    {
      lanes: [
        { name: "stripe", maxRunning: 2, rate: null, active: 2, startsUs: 0, holders: [{ jobId: "j1" }] },
      ],
    },
    "lane",
    /stripe is full: its 2 places are taken, one by job j1/,
  ],
  [
    "the rate of a lane is used up",
    {
      lanes: [
        {
          name: "mail",
          maxRunning: null,
          rate: { limit: 1, periodSec: 60, burst: 1 },
          active: 0,
          startsUs: (nowMs + 60_000) * 1000,
          holders: [],
        },
      ],
    },
    "rate",
    /mail starts 1 job in 60 s; it opens at/,
  ],
  [
    "it is not due",
    { job: aJob("pending", { runAt: nowMs + 1 }) },
    "run_at",
    /start at 1970-01-01T00:16:40.001Z/,
  ],
  ["it was given back", { job: aJob("pending", { attempt: 1, runAt: nowMs + 1 }) }, "run_at", /gave it back/],
  [
    "it failed",
    { job: retried },
    "retry",
    /1 of 3 failed \(TIMEOUT: ran too long\); .* at 1970-01-01T00:16:41/,
  ],
  ["its type is paused", { isPaused: true }, "paused", /writ queues resume build/],
  ["too many run", { quota: { max_running: 2 }, running: 2 }, "max_running", /runs 2 jobs.*max_running/],
  ["none may run", { quota: { max_running: 0 } }, "max_running", /no jobs.*writ quotas/],
  ["there is no worker", { workers: [] }, "no_worker", /writ worker/],
  [
    "none fits",
    { workers: [{ ...worker, misfits: ["lacks tag gpu"] }] },
    "no_fitting_worker",
    /w1, lacks tag gpu/,
  ],
  ["the fitting one is away", away(), "workers_unavailable", /w1 is draining/],
  ["the fitting one is full", { workers: [{ ...worker, isFull: true }] }, "workers_full", /w1 is busy/],
  ["others are before it", { ahead: 3 }, "queue", /3 jobs are before it/],
  [
    "no worker asks for jobs",
    { nowMs: nowMs + 10_000 },
    "workers_not_asking",
    /w1 has room but does not ask/,
  ],
])("B7: a job waits because %s", (_, parts, code, text) => {
  expect(waitReasons(waiting(parts))).toEqual([{ code, text: expect.stringMatching(text) }]);
});

test("B7: every reason that holds a job is named, the one that must end first at the beginning", () => {
  const many = waiting({
    lockdown: { reason: "r", tenantId: null },
    job: retried,
    isPaused: true,
    quota: { max_running: 1 },
    running: 1,
    workers: [],
  });
  const codes = waitReasons(many).map(({ code }) => code);
  expect(codes).toEqual(["lockdown", "retry", "paused", "max_running", "no_worker"]);
});

test("B7: a job without a reason to wait is next", () => {
  expect(waitReasons(waiting())).toEqual([]);
  expect(nextText(waiting())).toBe("It is the next of its queue, and worker w1 has room for it.");
});

test("B7: every reason is one short sentence", () => {
  const full = { ...worker, isFull: true };
  const cases = [
    waiting({ quota: { max_running: 2 }, running: 2 }),
    waiting({ workers: [full, full], ahead: 12 }),
    waiting(away()),
  ];
  for (const [reason] of cases.map(waitReasons)) expect(reason!.text).toMatch(/^[A-Z].{10,140}\.$/);
});

function away(): Partial<Waiting> {
  const unfit = { ...worker, id: "w2", misfits: ["is at CLOUD"] };
  return { workers: [{ ...worker, unavailable: "is draining" }, unfit] };
}
