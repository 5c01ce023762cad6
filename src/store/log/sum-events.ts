import type { EventKind } from "../../core/events.ts";
import type { EventCount } from "../audit-store.ts";
import { type StoredEvent, userOf } from "./stored-event.ts";

/** What is read of an event to count it. The details may be left out if they do not mention `folded`. */
export type CountedEvent = Pick<StoredEvent, "event" | "tenantId" | "origin"> & { details: string | null };

/**
 * Counts events by kind, tenant and user; a record of many refusals counts for all of them. The texts are read here and
 * not by the database: they contain what callers wrote, and PostgreSQL reads no JSON with a NUL in it.
 */
export function sumEvents(events: readonly CountedEvent[]): EventCount[] {
  const counts = new Map<string, EventCount>();
  for (const { event, tenantId, origin, details } of events) {
    const userId = userOf(origin);
    const key = JSON.stringify([event, tenantId, userId]);
    const known = counts.get(key) ?? { event: event as EventKind, tenantId, userId, count: 0 };
    counts.set(key, { ...known, count: known.count + foldedIn(details) });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

function foldedIn(details: string | null): number {
  const folded = details === null ? 1 : (JSON.parse(details) as Record<string, unknown>)["folded"];
  return typeof folded === "number" ? folded : 1;
}
