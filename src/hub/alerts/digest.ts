import { repeat, type Service } from "../../runtime/service.ts";
import type { EventCount } from "../../store/audit-store.ts";
import type { HubDeps } from "../deps.ts";
import { unlessLeadLost } from "../leadership.ts";
import { hubName } from "./hub-name.ts";
import { digestKinds } from "./response-rules.ts";
import { waitingMax } from "./sender.ts";

const roundMs = 30_000;
const dayMs = 86_400_000;
/** The most records that one act counts. */
const recordsPerTurn = 20_000;
const rowsMax = 100;

/** Sends a mail once a day, at the set time in the hub's local time, with everything unusual since the last one. */
export function createDigest(deps: HubDeps): Service {
  const { clock, failures, settings } = deps;
  const onError = unlessLeadLost((error) => failures.error(error, "the daily digest could not be sent"));
  return repeat({ name: "digest", intervalMs: roundMs, clock, onError }, async (signal) => {
    const reader = await deps.store.getLogReader({ name: "digest" });
    const nowMs = clock.nowMs();
    const dueAt = lastMoment(settings.digestAt, nowMs);
    // A new hub starts counting now.
    const lastAt = reader.memory === "" ? null : Number(reader.memory);
    if (lastAt !== null && lastAt >= dueAt) return;
    const throughSeq = deps.feed.lastSeq;
    const counts = lastAt === null ? [] : await countAll(deps, { afterSeq: reader.seq, throughSeq, signal });
    if (signal.aborted) return;
    await deps.store.advanceLogReader({
      name: "digest",
      seq: throughSeq,
      memory: String(nowMs),
      messages:
        counts.length === 0 ? [] : [digestMessage(counts, { from: lastAt!, to: nowMs, hub: hubName(deps) })],
      waitingMax,
      watch: [],
      nowMs,
    });
  });
}

/** The last time at which the local time was HH:MM. */
function lastMoment(digestAt: string, nowMs: number): number {
  const [hours, minutes] = digestAt.split(":").map(Number);
  const moment = new Date(nowMs);
  moment.setHours(hours!, minutes!, 0, 0);
  if (moment.getTime() <= nowMs) return moment.getTime();
  moment.setTime(moment.getTime() - dayMs);
  return moment.setHours(hours!, minutes!, 0, 0);
}

async function countAll(
  deps: HubDeps,
  { afterSeq, throughSeq, signal }: { afterSeq: number; throughSeq: number; signal: AbortSignal },
): Promise<EventCount[]> {
  const sums = new Map<string, EventCount>();
  for (let from = afterSeq; from < throughSeq && !signal.aborted; from += recordsPerTurn) {
    const stretch = { afterSeq: from, throughSeq: Math.min(from + recordsPerTurn, throughSeq) };
    for (const row of await deps.store.countEvents({ ...stretch, kinds: digestKinds })) {
      const key = JSON.stringify([row.event, row.tenantId, row.userId]);
      sums.set(key, { ...row, count: row.count + (sums.get(key)?.count ?? 0) });
    }
  }
  return [...sums.values()].sort((a, b) => b.count - a.count);
}

function digestMessage(counts: EventCount[], { from, to, hub }: { from: number; to: number; hub: string }) {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const rows = counts
    .slice(0, rowsMax)
    .map(
      ({ event, tenantId, userId, count }) =>
        `${String(count).padStart(7)}  ${event}  tenant ${tenantId ?? "-"}  user ${userId ?? "-"}`,
    );
  if (counts.length > rowsMax) rows.push(`and ${counts.length - rowsMax} more rows`);
  const period = `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
  return {
    channel: "smtp",
    subject: `daily digest: ${total} security events`,
    body: `${period}\nhub: ${hub}\n\n${rows.join("\n")}\n\njobctl audit shows the records.`,
    data: JSON.stringify({ level: "MEDIUM", event: "DIGEST", count: total, ts: to, hub }),
  };
}
