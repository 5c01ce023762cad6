import type { Webhook } from "./webhook.ts";

/** What became of one call: the status of the answer, or why there was none. */
export type DeliveryAnswer =
  | { kind: "answered"; status: number; retryAfterSec: number | null }
  | { kind: "failed"; reason: string };

/** `later` means that the same event is tried again, and that no later one is sent before. */
export type Judged = { outcome: "delivered" | "given_up" | "later" | "disabled"; webhook: Webhook };

const refusalsMax = 5;
const failingMsMax = 86_400_000;
const firstPauseMs = 5_000;
const pauseMsMax = 600_000;
/** A receiver may ask for a longer pause than ours, but not for so long that its webhook is forgotten. */
const askedPauseMsMax = 3_600_000;

/** What follows from the answer to one event. A function of its arguments, so that any hub may continue. Why: ADR 0142. */
export function judgeDelivery(
  webhook: Webhook,
  event: { seq: number; jobId: string },
  { answer, nowMs }: { answer: DeliveryAnswer; nowMs: number },
): Judged {
  const { seq, jobId } = event;
  if (answer.kind === "answered" && isSuccess(answer.status)) {
    const delivered = { count: webhook.delivered.count + 1, last: { seq, at: nowMs } };
    return { outcome: "delivered", webhook: { ...webhook, seq, failing: null, delivered } };
  }
  const before = webhook.failing;
  const isSame = before?.seq === seq;
  const refusals = (isSame ? before.refusals : 0) + (isRefusal(answer) ? 1 : 0);
  if (answer.kind === "answered" && refusals >= refusalsMax) {
    const last = { seq, job_id: jobId, status: answer.status, at: nowMs };
    const given_up = { count: webhook.given_up.count + 1, last };
    // The receiver is there and reads: this is no outage.
    return { outcome: "given_up", webhook: { ...webhook, seq, failing: null, given_up } };
  }
  const reason = reasonOf(answer);
  const since = before?.since ?? nowMs;
  const isGone = answer.kind === "answered" && answer.status === 410;
  if (isGone || nowMs - since >= failingMsMax) {
    const disabled = { at: nowMs, reason: isGone ? reason : `it has failed for 24 hours: ${reason}` };
    return { outcome: "disabled", webhook: { ...webhook, failing: null, disabled } };
  }
  const tries = (isSame ? before.tries : 0) + 1;
  const failing = { seq, since, tries, refusals, reason, next_at: nowMs + pauseMs(tries, answer) };
  return { outcome: "later", webhook: { ...webhook, failing } };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** 408 and 429 are about the moment and not about the message; 410 is about the address. */
function isRefusal(answer: DeliveryAnswer): boolean {
  if (answer.kind === "failed") return false;
  const { status } = answer;
  return status >= 400 && status < 500 && status !== 408 && status !== 429 && status !== 410;
}

function reasonOf(answer: DeliveryAnswer): string {
  if (answer.kind === "failed") return answer.reason;
  const { status } = answer;
  return status >= 300 && status < 400
    ? `it answered ${status}; redirects are not followed`
    : `it answered ${status}`;
}

function pauseMs(tries: number, answer: DeliveryAnswer): number {
  const ownMs = Math.min(pauseMsMax, firstPauseMs * 2 ** Math.min(tries - 1, 20));
  const askedMs = answer.kind === "answered" ? (answer.retryAfterSec ?? 0) * 1_000 : 0;
  return Math.max(ownMs, Math.min(askedMs, askedPauseMsMax));
}
