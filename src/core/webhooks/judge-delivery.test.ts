import { describe, expect, test } from "vitest";
import { type Judged, judgeDelivery } from "./judge-delivery.ts";
import type { Webhook } from "./webhook.ts";

const hourMs = 3_600_000;
const fresh: Webhook = {
  id: "w",
  spec: { url: "https://receiver.example/", events: ["job:completed"], types: null, user_ids: null },
  seq: 0,
  secrets: [{ salt: "s", created_at: 0, expires_at: null }],
  failing: null,
  delivered: { count: 0, last: null },
  given_up: { count: 0, last: null },
  disabled: null,
  created_at: 0,
  changed_at: 0,
};

/** Answers to one event, each at the time when it is due. */
function answers(webhook: Webhook, statuses: number[], seq = 7): Judged & { tries: number; atMs: number } {
  let judged: Judged = { outcome: "later", webhook };
  let tries = 0;
  for (const status of statuses) {
    const nowMs = judged.webhook.failing?.next_at ?? 0;
    const answer = { kind: "answered", status, retryAfterSec: null } as const;
    judged = judgeDelivery(judged.webhook, { seq, jobId: "j" }, { answer, nowMs });
    tries++;
    if (judged.outcome !== "later") return { ...judged, tries, atMs: nowMs };
  }
  return { ...judged, tries, atMs: judged.webhook.failing?.next_at ?? 0 };
}

const many = (status: number): number[] => Array<number>(300).fill(status);

describe("an event", () => {
  test.each([400, 401, 404, 413, 422, 499])("that is answered %i is given up after five tries", (status) => {
    const { outcome, tries, webhook } = answers(fresh, many(status));
    expect([outcome, tries, webhook.seq]).toEqual(["given_up", 5, 7]);
    expect(webhook.given_up).toMatchObject({ count: 1, last: { seq: 7, job_id: "j", status } });
    expect(webhook.failing).toBe(null);
  });

  test.each([301, 302, 408, 429, 500, 502, 503])("that is answered %i is tried for 24 hours", (status) => {
    const { outcome, webhook, atMs } = answers(fresh, many(status));
    expect([outcome, webhook.seq, Math.floor(atMs / hourMs)]).toEqual(["disabled", 0, 24]);
    expect(webhook.disabled!.reason).toMatch(/^it has failed for 24 hours: it answered /);
  });

  test("that is answered 410 disables the webhook at once", () => {
    const { outcome, tries, webhook } = answers(fresh, [410]);
    expect([outcome, tries, webhook.disabled]).toEqual(["disabled", 1, { at: 0, reason: "it answered 410" }]);
  });

  test("that other errors come between is still given up after five refusals", () => {
    expect(answers(fresh, [400, 503, 400, 503, 400, 400, 503, 400])).toMatchObject({
      outcome: "given_up",
      tries: 8,
    });
  });

  test("that is accepted in the end leaves no trace of the failures", () => {
    const { outcome, webhook } = answers(fresh, [500, 400, 204]);
    expect([outcome, webhook.seq, webhook.failing, webhook.delivered.count]).toEqual([
      "delivered",
      7,
      null,
      1,
    ]);
  });
});

test("refusals of one event do not count against the next", () => {
  const first = answers(fresh, [400, 400, 400, 400, 200], 7).webhook;
  expect(answers(first, [400, 400, 400, 400], 8).outcome).toBe("later");
});

test("a receiver may ask for a longer pause, and not for one without end", () => {
  const pause = (retryAfterSec: number): number =>
    judgeDelivery(
      fresh,
      { seq: 1, jobId: "j" },
      { answer: { kind: "answered", status: 429, retryAfterSec }, nowMs: 0 },
    ).webhook.failing!.next_at;
  expect([pause(1), pause(60), pause(999_999)]).toEqual([5_000, 60_000, hourMs]);
});
