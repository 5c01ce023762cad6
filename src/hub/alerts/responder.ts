import type { LoggedEvent, NewEvent } from "../../core/events.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import type { WorkerOwner } from "../../store/workers/worker-owner.ts";
import type { HubDeps } from "../deps.ts";
import { unlessLeadLost } from "../leadership.ts";
import { lockDown, lockTenant } from "../use-cases/access/lockdown.ts";
import { type AlertBudgets, type AlertSummary, maySend, takeSummaries } from "./alert-budget.ts";
import { alertText, summaryText } from "./alert-text.ts";
import { type Alert, type HeldAlerts, holdDown, takeDue } from "./hold-down.ts";
import { hubName } from "./hub-name.ts";
import { answeredKinds, blockReason, isLimited, responseTo, workerOf } from "./response-rules.ts";
import { waitingMax } from "./sender.ts";
import { addFailure, type Failure } from "./signature-storm.ts";

const roundMs = 500;
const eventsPerTurn = 500;
const watchMs = 24 * 3_600_000;

type Memory = { failures: Failure[]; held: HeldAlerts; budgets: AlertBudgets };
type ResponderDeps = HubDeps & { channels: readonly { name: string }[] };

/**
 * Reads the log from its own position and responds to each event by its level. A restart neither loses nor repeats a
 * response. Why: ADR 0014.
 */
export function createResponder(deps: ResponderDeps): Service {
  const { clock, failures } = deps;
  const onError = unlessLeadLost((error) => failures.error(error, "the response to security events failed"));
  let position: LogPosition;
  /** Events of the last turn that are not in the log yet. */
  let raised: NewEvent[] = [];
  const recordRaised = async (): Promise<void> => {
    if (raised.length > 0) await deps.store.recordEvents({ events: raised });
    raised = [];
  };
  const rounds = repeat({ name: "responder", intervalMs: roundMs, clock, onError }, async (signal) => {
    await recordRaised();
    while (!signal.aborted) {
      const lastSeq = deps.feed.lastSeq;
      const overdue = isOverdue(position.memory, clock.nowMs());
      if (lastSeq <= position.seq && !overdue) return;
      const events = await readNew(deps, position.seq);
      const readSeq = events.at(-1)?.seq ?? position.seq;
      // The page was not full, so everything up to `lastSeq` has been handled and is not read again.
      const seq = events.length === eventsPerTurn ? readSeq : Math.max(readSeq, lastSeq);
      const { memory, watch } = await answer(deps, { events, seq, memory: position.memory });
      // Right after the answer, so that a failure from here on does not answer these events again.
      position = { seq, memory };
      raised = raiseMonitoring(deps, watch);
      await recordRaised();
    }
  });
  return {
    name: rounds.name,
    /** Runs before the ports open: a new reader begins at the end of the log, and must not miss the first events. */
    async start() {
      position = await readPosition(deps);
      await rounds.start();
    },
    stop: () => rounds.stop(),
  };
}

type LogPosition = { seq: number; memory: Memory };

async function readPosition(deps: ResponderDeps): Promise<LogPosition> {
  const { store } = deps;
  await deps.watched.load(store);
  const { seq, memory: text } = await store.getLogReader({ name: "responder" });
  const memory = readMemory(text);
  if (text === "") {
    const nothing = { alerts: [], summaries: [], watch: new Set<string>() };
    await advance(deps, { seq, memory, ...nothing, nowMs: deps.clock.nowMs() });
  }
  return { seq, memory };
}

/** The memory of an earlier version has no budgets, and its alerts have neither the first time nor the caller. */
function readMemory(text: string): Memory {
  const memory: Memory = { failures: [], held: {}, budgets: {}, ...(text === "" ? {} : JSON.parse(text)) };
  for (const one of Object.values(memory.held)) {
    if (one.alert === null) continue;
    one.alert.firstTs ??= one.alert.ts;
    one.alert.callerId ??= one.alert.userId;
  }
  for (const one of Object.values(memory.budgets)) {
    if (one.more !== null) one.more.firstTs ??= one.more.ts;
  }
  return memory;
}

function isOverdue({ held, budgets }: Memory, nowMs: number): boolean {
  return [...Object.values(held), ...Object.values(budgets)].some(({ until }) => until <= nowMs);
}

function readNew(deps: ResponderDeps, afterSeq: number): Promise<LoggedEvent[]> {
  return deps.store.readEvents({ afterSeq, kinds: answeredKinds, limit: eventsPerTurn });
}

type Watched = { subject: string; until: number };

type Turn = { events: LoggedEvent[]; seq: number; memory: Memory };

/** The messages must not be repeated, so they are stored together with the new position; the rest may be done again. */
async function answer(
  deps: ResponderDeps,
  { events, seq, memory }: Turn,
): Promise<{ memory: Memory; watch: Watched[] }> {
  const nowMs = deps.clock.nowMs();
  const { held, budgets } = structuredClone({ held: memory.held, budgets: memory.budgets });
  let { failures } = memory;
  // Before new events are judged, so that a new minute begins with a whole budget.
  const summaries = takeSummaries(budgets, nowMs);
  const alerts: Alert[] = [];
  const mayBeSent = (alert: Alert): boolean => !isLimited(alert) || maySend(budgets, alert, nowMs);
  const watch = new Set<string>();
  for (const event of events) {
    const response = responseTo(event);
    if (response.alert !== null) {
      const alert = holdDown(held, event, { ...response.alert, nowMs, maySend: mayBeSent });
      if (alert !== null) alerts.push(alert);
    }
    if (response.watch !== null) watch.add(response.watch);
    if (response.block !== null) await block(deps, response.block, event);
    if (response.lockdown !== null) await lock(deps, { tenantId: null, reason: response.lockdown });
    if (event.event !== "INVALID_SIGNATURE") continue;
    const counted = addFailure(failures, event, await ownerOfReporter(deps, event));
    failures = counted.failures;
    if (counted.alarm !== null) await lock(deps, counted.alarm);
  }
  alerts.push(...takeDue(held, nowMs).filter(mayBeSent));
  const next = { failures, held, budgets };
  const turn = { seq, memory: next, alerts, summaries, watch, nowMs };
  return { memory: next, watch: await advance(deps, turn) };
}

async function ownerOfReporter(deps: ResponderDeps, event: LoggedEvent): Promise<WorkerOwner | null> {
  const workerId = workerOf(event);
  if (workerId === null) return null;
  return deps.store.getWorkerOwner({ workerId, nowMs: deps.clock.nowMs() });
}

/** Rotates the keys only if the alarm concerns the whole hub. */
async function lock(deps: ResponderDeps, alarm: { tenantId: string | null; reason: string }): Promise<void> {
  const byHub = { reason: alarm.reason, userId: null, origin: null };
  if (alarm.tenantId === null) await lockDown(deps, { ...byHub, rotate: true });
  else await lockTenant(deps, { ...byHub, tenantId: alarm.tenantId });
}

async function block(deps: ResponderDeps, workerId: string, evidence: LoggedEvent): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const isNew = await deps.store.blockWorker({ workerId, why: blockReason(evidence), nowMs });
  deps.workers.forget(workerId);
  if (isNew) deps.logger.warn({ worker: workerId }, "a worker was blocked because of evidence against it");
}

type Answered = {
  seq: number;
  memory: Memory;
  alerts: Alert[];
  summaries: AlertSummary[];
  watch: Set<string>;
  nowMs: number;
};

async function advance(deps: ResponderDeps, turn: Answered): Promise<Watched[]> {
  const { nowMs } = turn;
  const hub = hubName(deps);
  const watch = [...turn.watch].map((subject) => ({ subject, until: nowMs + watchMs }));
  const texts = [
    ...turn.summaries.map((summary) => summaryText(summary, hub)),
    ...turn.alerts.map((alert) => alertText(alert, hub)),
  ];
  const messages = deps.channels.flatMap(({ name: channel }) => texts.map((text) => ({ ...text, channel })));
  const { dropped } = await deps.store.advanceLogReader({
    name: "responder",
    seq: turn.seq,
    memory: JSON.stringify(turn.memory),
    messages,
    waitingMax,
    watch,
    nowMs,
  });
  if (dropped > 0) deps.logger.error({ dropped }, "too many alerts are waiting; these will not be sent");
  return watch;
}

/** Adds subjects to the watch list, whose requests are recorded from now on. Returns the events that say so. */
function raiseMonitoring(deps: ResponderDeps, watch: Watched[]): NewEvent[] {
  const fresh = watch.filter(({ subject }) => !deps.watched.has(subject));
  for (const { subject, until } of watch) deps.watched.add(subject, until);
  return fresh.map(({ subject, until }) => ({
    event: "MONITORING_RAISED" as const,
    ts: deps.clock.nowMs(),
    tenantId: subject.startsWith("tenant:") ? subject.slice("tenant:".length) : null,
    jobId: null,
    ownerId: null,
    origin: null,
    details: { subject, until },
  }));
}
