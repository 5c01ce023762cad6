import type { EventKind, Severity } from "../../../core/events.ts";
import { listedEntries } from "../../frames/frame.ts";
import { readSharedTexts } from "../../frames/shared-texts.ts";
import type { Connection } from "../database/connection.ts";
import { readFrameHead, readPayload } from "./frame-rows.ts";

/** Nearly all events are of these kinds, and of them no index is kept: a frame with one of them is soon found without. */
const commonKinds = new Set<EventKind>(["JOB_CREATED", "JOB_ASSIGNED", "JOB_STARTED", "JOB_COMPLETED"]);

/** What events are looked for by. Whatever is undefined does not matter. */
export type EventTraits = {
  tenantId?: string | null | undefined;
  kinds?: readonly string[] | undefined;
  severity?: Severity | undefined;
};

/** Notes which tenants, rare kinds and severities the events of a frame have. Why: ADR 0116. */
export function indexFrame(sql: Connection, number: number): void {
  for (const trait of traitsIn(sql, number)) {
    sql.run("INSERT OR IGNORE INTO traits (name) VALUES (?)", trait);
    sql.run("INSERT OR IGNORE INTO frame_traits VALUES (?, ?)", numberOf(sql, trait)!, number);
  }
}

/** Before the events of a frame are removed. */
export function unindexFrame(sql: Connection, number: number): void {
  for (const trait of traitsIn(sql, number))
    sql.run("DELETE FROM frame_traits WHERE trait = ? AND frame = ?", numberOf(sql, trait), number);
}

function numberOf(sql: Connection, trait: string): number | null {
  return sql.first<{ number: number }>("SELECT number FROM traits WHERE name = ?", trait)?.number ?? null;
}

/** The frame itself tells: kind, severity and tenant are together in one of the texts that its events share. */
function traitsIn(sql: Connection, number: number): Set<string> {
  const traits = new Set<string>();
  const [head, payload] = [readFrameHead(sql, number), readPayload(sql, number, "events")];
  if (head === null || payload === null) return traits;
  const { starts } = listedEntries(head, "events");
  for (const text of readSharedTexts(payload.subarray(starts.at(-2)))) {
    if (!text.startsWith("[")) continue;
    const [event, severity, tenantId] = JSON.parse(text) as [EventKind, Severity, string | null];
    traits.add(tenantTrait(tenantId));
    if (!commonKinds.has(event)) traits.add(kindTrait(event));
    if (severity !== "LOW") traits.add(severityTrait(severity));
  }
  return traits;
}

const tenantTrait = (tenantId: string | null): string => `tenant:${tenantId ?? ""}`;
const kindTrait = (kind: string): string => `kind:${kind}`;
const severityTrait = (severity: Severity): string => `severity:${severity}`;

/**
 * The traits of which a frame has at least one if it has a wanted event, by number; null if no index tells. The rarest is asked
 * for: few frames have an event of a rare kind, many have one of a tenant.
 */
export function wantedTraits(sql: Connection, { kinds, severity, tenantId }: EventTraits): number[] | null {
  const numbers = (names: readonly string[]): number[] =>
    names.map((name) => numberOf(sql, name)).filter((number) => number !== null);
  if (kinds !== undefined && !kinds.some((kind) => commonKinds.has(kind as EventKind)))
    return numbers(kinds.map(kindTrait));
  if (severity !== undefined && severity !== "LOW") return numbers([severityTrait(severity)]);
  return tenantId === undefined ? null : numbers([tenantTrait(tenantId)]);
}

/** The first frame from this one on that has one of the traits, among those whose rows are written. */
export function nextWithTrait(sql: Connection, traits: readonly number[], from: number): number | null {
  const text = "SELECT frame FROM frame_traits WHERE trait = ? AND frame >= ? ORDER BY frame LIMIT 1";
  const found = traits.flatMap((trait) => sql.first<{ frame: number }>(text, trait, from)?.frame ?? []);
  return found.length === 0 ? null : Math.min(...found);
}
