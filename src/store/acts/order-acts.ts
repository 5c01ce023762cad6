// Standing orders: schedules, webhooks and hooks. Why: ADR 0130.
import { isEnded } from "../../core/jobs/job.ts";
import type {
  Firing,
  FiringOutcome,
  NotedOccurrence,
  OccurrenceOutcome,
  OrderChange,
  OrderKind,
  OrderName,
  OrderStore,
  StandingOrder,
} from "../order-store.ts";
import type { SubmittedJob } from "../store.ts";
import { type Act, all, first, run } from "./act.ts";
import { Columns, nullable, number, text } from "./columns.ts";
import type { ReadDriver, WriteDriver } from "./driver.ts";

const orders = new Columns<StandingOrder>({
  kind: text<OrderKind>("kind"),
  tenantId: text("tenant_id"),
  name: text("name"),
  id: text("id"),
  userId: text("user_id"),
  revision: number("revision"),
  nextAt: nullable(number("next_at")),
  cursor: number("place"),
  state: text("state"),
  seal: text("seal"),
});
const orderText = `SELECT ${orders.list} FROM standing_orders`;
const named = "WHERE kind = ? AND tenant_id = ? AND name = ?";

type Input<Name extends keyof OrderStore> = Parameters<OrderStore[Name]>[0];

export function getOrder(_: ReadDriver, { kind, tenantId, name }: OrderName): Act<StandingOrder | null> {
  return first(orders, `${orderText} ${named}`, kind, tenantId, name);
}

export function* listOrders(
  _: ReadDriver,
  { kind, tenantId, userId, after, limit }: Input<"listOrders">,
): Act<StandingOrder[]> {
  const from = after ?? { tenantId: "", name: "" };
  return yield* all(
    orders,
    `${orderText} WHERE kind = ?1 AND (tenant_id = ?2 OR ?2 = '') AND (user_id = ?3 OR ?3 = '')
      AND (tenant_id, name) > (?4, ?5) ORDER BY tenant_id, name LIMIT ?6`,
    kind,
    tenantId ?? "",
    userId ?? "",
    from.tenantId,
    from.name,
    limit,
  );
}

const dueTimes = new Columns({ nextAt: number("next_at") });

export function* listDueOrders(
  _: ReadDriver,
  { kind, nowMs, limit }: Input<"listDueOrders">,
): Act<{ orders: StandingOrder[]; nextAt: number | null }> {
  const due = yield* all(
    orders,
    `${orderText} WHERE kind = ? AND next_at <= ? ORDER BY next_at LIMIT ?`,
    kind,
    nowMs,
    limit,
  );
  const next = yield* first(
    dueTimes,
    `SELECT ${dueTimes.list} FROM standing_orders WHERE kind = ? AND next_at IS NOT NULL ORDER BY next_at LIMIT 1`,
    kind,
  );
  return { orders: due, nextAt: next?.nextAt ?? null };
}

export function listOrdersAhead(
  _: ReadDriver,
  { kind, afterMs, afterId, limit }: Input<"listOrdersAhead">,
): Act<StandingOrder[]> {
  const text = `${orderText} WHERE kind = ? AND place > ? AND id > ? ORDER BY id LIMIT ?`;
  return all(orders, text, kind, afterMs, afterId, limit);
}

const counts = new Columns({ count: number("count(*)") });

export function* putOrder(
  driver: WriteDriver,
  { order, revisionBefore, events, most }: Input<"putOrder">,
): Act<"kept" | "moved" | "too_many"> {
  if (revisionBefore === null) {
    const kept = yield* first(
      counts,
      `SELECT ${counts.list} FROM standing_orders WHERE kind = ? AND tenant_id = ?`,
      order.kind,
      order.tenantId,
    );
    if (kept!.count >= most) return "too_many";
    if ((yield* insertOrder(order)) === 0) return "moved";
  } else if ((yield* updateOrder({ order, revisionBefore })) === 0) return "moved";
  for (const event of events) driver.append(event);
  return "kept";
}

function insertOrder(order: StandingOrder): Act<number> {
  return run(
    `INSERT INTO standing_orders (kind, tenant_id, name, id, user_id, revision, next_at, place, state, seal)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    order.kind,
    order.tenantId,
    order.name,
    order.id,
    order.userId,
    order.revision,
    order.nextAt,
    order.cursor,
    order.state,
    order.seal,
  );
}

const updateText = `UPDATE standing_orders SET user_id = ?, revision = ?, next_at = ?, place = ?, state = ?, seal = ?
  WHERE id = ? AND revision = ?`;

function updateOrder({ order, revisionBefore }: Pick<OrderChange, "order" | "revisionBefore">): Act<number> {
  const { id, userId, revision, nextAt, cursor, state, seal } = order;
  return run(updateText, userId, revision, nextAt, cursor, state, seal, id, revisionBefore);
}

export function* removeOrder(
  driver: WriteDriver,
  { kind, tenantId, name, revision, events }: Input<"removeOrder">,
): Act<boolean> {
  const removed = yield* first(
    orders,
    `DELETE FROM standing_orders ${named} AND revision = ? RETURNING ${orders.list}`,
    kind,
    tenantId,
    name,
    revision,
  );
  if (removed === null) return false;
  driver.send("DELETE FROM order_occurrences WHERE order_id = ?", removed.id);
  for (const event of events) driver.append(event);
  return true;
}

/** Everything is read, and every refusal known, before the first of it is written. */
export function* fireOrders(driver: WriteDriver, { firings }: { firings: Firing[] }): Act<FiringOutcome[]> {
  const outcomes = yield* refusals(driver, firings);
  const open = firings.filter((firing) => !outcomes.has(firing));
  const submitted = yield* driver.submitJobs(
    open.map(({ occurrences, maxPending, origin }) => ({
      jobs: occurrences.flatMap(({ job }) => (job === null ? [] : [job])),
      maxPending,
      origin,
    })),
  );
  for (const [index, firing] of open.entries()) {
    const answer = submitted[index]!;
    if (answer.kind === "accepted") writeFiring(driver, firing, answer.jobs);
    outcomes.set(
      firing,
      answer.kind === "accepted" ? { kind: "fired", jobs: answer.jobs.map(({ id }) => id) } : answer,
    );
  }
  return firings.map((firing) => outcomes.get(firing)!);
}

const revisions = new Columns({ id: text("id"), revision: number("revision") });

/** Those that were moved by another hub, whose last job is active again, or that made a job before. The rows stay locked. */
function* refusals(driver: WriteDriver, firings: Firing[]): Act<Map<Firing, FiringOutcome>> {
  const found = yield* all(
    revisions,
    `SELECT ${revisions.list} FROM standing_orders WHERE id = ANY (?) ORDER BY id FOR UPDATE`,
    firings.map(({ order }) => order.id),
  );
  const revisionOf = new Map(found.map(({ id, revision }) => [id, revision]));
  const jobs = firings.flatMap(({ endedJobId }) => (endedJobId === null ? [] : [endedJobId]));
  const statuses = jobs.length === 0 ? new Map() : yield* driver.statusesOf(jobs);
  const noted = yield* readNoted(firings);
  const outcomes = new Map<Firing, FiringOutcome>();
  for (const firing of firings) {
    const { order, revisionBefore, endedJobId } = firing;
    const repeated = firing.occurrences
      .filter(({ occurrence }) => noted.has(`${order.id} ${occurrence}`))
      .map(({ occurrence }) => occurrence);
    const status = endedJobId === null ? undefined : statuses.get(endedJobId);
    if (revisionOf.get(order.id) !== revisionBefore) outcomes.set(firing, { kind: "moved" });
    else if (status !== undefined && !isEnded(status)) outcomes.set(firing, { kind: "busy" });
    else if (repeated.length > 0) outcomes.set(firing, { kind: "noted", occurrences: repeated });
  }
  return outcomes;
}

const notedNames = new Columns({ orderId: text("order_id"), occurrence: text("occurrence") });

/** Those that made a job. One that was skipped may still be fired: a person asks for it. */
function* readNoted(firings: Firing[]): Act<Set<string>> {
  const names = firings.flatMap(({ occurrences }) => occurrences.map(({ occurrence }) => occurrence));
  if (names.length === 0) return new Set();
  const found = yield* all(
    notedNames,
    `SELECT ${notedNames.list} FROM order_occurrences 
      WHERE order_id = ANY (?) AND occurrence = ANY (?) AND outcome = 'fired'`,
    firings.map(({ order }) => order.id),
    [...new Set(names)],
  );
  return new Set(found.map(({ orderId, occurrence }) => `${orderId} ${occurrence}`));
}

/** `made` are the jobs of the occurrences that have one, in order; another job may stand for one of them. */
function writeFiring(driver: WriteDriver, firing: Firing, made: SubmittedJob[]): void {
  const { id, userId, revision, nextAt, cursor, state, seal } = firing.order;
  driver.send(updateText, userId, revision, nextAt, cursor, state, seal, id, firing.revisionBefore);
  const jobs = made.values();
  for (const one of firing.occurrences) {
    const jobId = one.job === null ? null : (jobs.next().value?.id ?? null);
    noteOccurrence(driver, firing, { ...one, jobId });
  }
  for (const event of firing.events) driver.append(event);
  forgetOld(driver, firing.order);
}

function noteOccurrence(
  driver: WriteDriver,
  { order, nowMs }: Firing,
  { occurrence, at, outcome, jobId }: Omit<Firing["occurrences"][number], "job"> & { jobId: string | null },
): void {
  driver.send(
    `INSERT INTO order_occurrences (order_id, occurrence, at, outcome, job_id, ts, revision)
      VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (order_id, occurrence) DO UPDATE SET
        outcome = excluded.outcome, job_id = excluded.job_id, ts = excluded.ts, revision = excluded.revision`,
    order.id,
    occurrence,
    at,
    outcome,
    jobId,
    nowMs,
    order.revision,
  );
}

/** A backfill leaves out what is noted here, and the list of past occurrences shows the newest. */
const changesNoted = 10_000;

function forgetOld(driver: WriteDriver, { id, revision }: StandingOrder): void {
  if (revision <= changesNoted) return;
  driver.send(
    "DELETE FROM order_occurrences WHERE order_id = ? AND revision <= ?",
    id,
    revision - changesNoted,
  );
}

const occurrences = new Columns<NotedOccurrence>({
  occurrence: text("occurrence"),
  at: number("at"),
  outcome: text<OccurrenceOutcome>("outcome"),
  jobId: nullable(text("job_id")),
  ts: number("ts"),
});

export function listOccurrences(
  _: ReadDriver,
  { orderId, limit }: Input<"listOccurrences">,
): Act<NotedOccurrence[]> {
  return all(
    occurrences,
    `SELECT ${occurrences.list} FROM order_occurrences WHERE order_id = ? ORDER BY revision DESC, at DESC LIMIT ?`,
    orderId,
    limit,
  );
}
