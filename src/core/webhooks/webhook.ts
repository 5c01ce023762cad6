import { type EventKind, eventTable, type LoggedEvent } from "../events.ts";

/** What a person has asked for, as it is called in the API. */
export type WebhookSpec = {
  url: string;
  events: string[];
  /** Only jobs of these types; null for all. */
  types: string[] | null;
  /** Only jobs of these users; null for all. */
  user_ids: string[] | null;
};

/** A webhook with all that it remembers. Nothing of this is in the memory of a hub. Why: ADR 0142. */
export type Webhook = {
  id: string;
  spec: WebhookSpec;
  /** Everything up to this event of the log was delivered, passed, or does not concern it. */
  seq: number;
  /** The newest first. No secret is kept: each is made from its salt. */
  secrets: WebhookSecret[];
  /** Since when its next event cannot be delivered. */
  failing: Failing | null;
  delivered: { count: number; last: { seq: number; at: number } | null };
  /** Events that were refused again and again, and passed. */
  given_up: { count: number; last: { seq: number; job_id: string; status: number; at: number } | null };
  disabled: { at: number; reason: string } | null;
  created_at: number;
  changed_at: number;
};

type WebhookSecret = { salt: string; created_at: number; expires_at: number | null };

type Failing = {
  seq: number;
  since: number;
  tries: number;
  /** Answers of 4xx to this event, which say that it will never be accepted. */
  refusals: number;
  reason: string;
  next_at: number;
};

export const webhookEvents: readonly string[] = [
  ...new Set(Object.values(eventTable).flatMap(({ live }) => (live === null ? [] : [eventName(live)]))),
];

function eventName(live: string): string {
  return `job:${live}`;
}

/** Whether a webhook wants this event of its tenant. */
export function wantsEvent({ events, types, user_ids }: WebhookSpec, event: LoggedEvent): boolean {
  const { live } = eventTable[event.event as EventKind];
  if (live === null || !events.includes(eventName(live))) return false;
  if (types !== null && !types.includes(String(event.details["type"]))) return false;
  return user_ids === null || (event.ownerId !== null && user_ids.includes(event.ownerId));
}

/** Two secrets are valid for a day, so that a receiver can be given the new one without losing a message. */
const bothValidMs = 86_400_000;

export function rotateSecret(webhook: Webhook, salt: string, nowMs: number): Webhook {
  const [newest] = webhook.secrets;
  const before = newest === undefined ? [] : [{ ...newest, expires_at: nowMs + bothValidMs }];
  const secrets = [{ salt, created_at: nowMs, expires_at: null }, ...before];
  return { ...webhook, secrets, changed_at: nowMs };
}

export function validSecrets({ secrets }: Webhook, nowMs: number): WebhookSecret[] {
  return secrets.filter(({ expires_at }) => expires_at === null || expires_at > nowMs);
}
