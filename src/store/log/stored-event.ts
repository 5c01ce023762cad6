import type { LoggedEvent, NewEvent, Origin } from "../../core/events.ts";

/** An event as a database stores it: details and origin are JSON text. */
export type StoredEvent = Omit<LoggedEvent, "details" | "origin"> & {
  details: string;
  origin: string | null;
};

/** An event as it will be stored under this number. One without a job has no number within a job. */
export function storedEvent(event: NewEvent & { jobSeq?: number | null }, seq: number): StoredEvent {
  return {
    seq,
    jobSeq: event.jobSeq ?? null,
    event: event.event,
    ts: event.ts,
    tenantId: event.tenantId,
    jobId: event.jobId,
    ownerId: event.ownerId,
    details: JSON.stringify(event.details),
    origin: event.origin === null ? null : originText(event.origin),
  };
}

/** The events of one act come from one place. The user is always first: see `originsOf`. */
const originTexts = new WeakMap<Origin, string>();

function originText(origin: Origin): string {
  let text = originTexts.get(origin);
  if (text === undefined) {
    const { userId, ipAddress, userAgent, endpoint, method } = origin;
    text = JSON.stringify({ userId, ipAddress, userAgent, endpoint, method });
    originTexts.set(origin, text);
  }
  return text;
}

/** How the stored origins of this user begin: databases search by it, because they cannot read every text as JSON. */
export function originsOf(userId: string): string {
  return `{"userId":${JSON.stringify(userId)},`;
}

export function userOf(origin: string | null): string | null {
  return origin === null ? null : (JSON.parse(origin) as Origin).userId;
}

export function readEvent(stored: StoredEvent): LoggedEvent {
  return readWith(stored, JSON.parse);
}

/**
 * The event whose hash is checked. The hash covers the meaning of the text, not the text. A text that means the same in
 * another spelling was not written by the hub and must not pass for the original, so it is then read as plain text.
 */
export function readEventExactly(stored: StoredEvent): LoggedEvent {
  return readWith(stored, parseExactly);
}

function readWith(stored: StoredEvent, parse: (json: string) => unknown): LoggedEvent {
  return {
    seq: stored.seq,
    jobSeq: stored.jobSeq,
    event: stored.event,
    ts: stored.ts,
    tenantId: stored.tenantId,
    jobId: stored.jobId,
    ownerId: stored.ownerId,
    details: parse(stored.details) as Record<string, unknown>,
    origin: stored.origin === null ? null : (parse(stored.origin) as Origin),
  };
}

function parseExactly(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return JSON.stringify(value) === json ? value : { text: json };
  } catch {
    return { text: json };
  }
}
