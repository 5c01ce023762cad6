import type { NewEvent, Origin } from "../core/events.ts";
import type { NewJob } from "../core/jobs/job.ts";
import type { SubmitOutcome } from "./store.ts";

/**
 * The part of the store that keeps standing orders: schedules, webhooks and hooks. Each is one row with a seal over all of it,
 * which the hub makes and checks: the store neither reads nor changes what is in `state`. Why: ADR 0130.
 */
export type OrderStore = {
  /**
   * Writes an order: a new one with `revisionBefore` null, else the one that has this revision now. A tenant has no more orders of a
   * kind than `most`.
   */
  putOrder(input: OrderChange & { most: number }): Promise<"kept" | "moved" | "too_many">;
  getOrder(input: OrderName): Promise<StandingOrder | null>;
  /** In order of tenant and name; null for all tenants. */
  listOrders(input: {
    kind: OrderKind;
    tenantId: string | null;
    userId: string | null;
    after: { tenantId: string; name: string } | null;
    limit: number;
  }): Promise<StandingOrder[]>;
  /** Those whose time has come, the longest due first, and when the next of all is due. */
  listDueOrders(input: {
    kind: OrderKind;
    nowMs: number;
    limit: number;
  }): Promise<{ orders: StandingOrder[]; nextAt: number | null }>;
  /** Those that have come further than this time, which only a clock that was set back can cause. */
  listOrdersAhead(input: {
    kind: OrderKind;
    afterMs: number;
    afterId: string;
    limit: number;
  }): Promise<StandingOrder[]>;
  /** False if it is not there with this revision. What is noted of its occurrences goes with it. */
  removeOrder(input: OrderName & { revision: number; events: NewEvent[] }): Promise<boolean>;
  /**
   * Moves each order, submits the jobs of its occurrences and notes what became of them: all of that for one order, or nothing, even if
   * one of the occurrences has made its job before. Answers are in the order of the firings.
   */
  fireOrders(input: { firings: Firing[] }): Promise<FiringOutcome[]>;
  /** The newest first. */
  listOccurrences(input: { orderId: string; limit: number }): Promise<NotedOccurrence[]>;
};

export type OrderKind = "schedule" | "webhook" | "hook";

export type OrderName = { kind: OrderKind; tenantId: string; name: string };

export type StandingOrder = OrderName & {
  id: string;
  userId: string;
  /** Rises by 1 with each change: a hub that has read an older one cannot write. */
  revision: number;
  /** When it is due next; null if it is not. */
  nextAt: number | null;
  /** How far it has come: a time, or a number of the log. */
  cursor: number;
  state: string;
  seal: string;
};

export type OrderChange = { order: StandingOrder; revisionBefore: number | null; events: NewEvent[] };

export type Firing = OrderChange & {
  occurrences: { occurrence: string; at: number; outcome: OccurrenceOutcome; job: NewJob | null }[];
  /** The orders that the plan took to be free: this job must have ended. */
  endedJobId: string | null;
  maxPending: number | null;
  nowMs: number;
  origin: Origin | null;
};

export type OccurrenceOutcome = "fired" | "skipped";

export type FiringOutcome =
  | { kind: "fired"; jobs: string[] }
  /** Another hub was faster, or the order has changed. */
  | { kind: "moved" }
  /** The job before is active again. */
  | { kind: "busy" }
  /** These have made their jobs already. */
  | { kind: "noted"; occurrences: string[] }
  | Exclude<SubmitOutcome, { kind: "accepted" }>;

export type NotedOccurrence = {
  occurrence: string;
  at: number;
  outcome: OccurrenceOutcome;
  jobId: string | null;
  ts: number;
};
