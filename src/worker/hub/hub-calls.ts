import { z } from "zod";
import { abilitiesHeader, type HubAbility, readAbilities } from "../../contract/hub-abilities.ts";
import { adminRoutes } from "../../contract/routes/admin-routes.ts";
import { JsonText } from "../../contract/routes/build-request.ts";
import { callRoute, callRouteForText, openRoute } from "../../contract/routes/call-route.ts";
import { type Received, readAnswer } from "../../contract/routes/read-answer.ts";
import { workerRoutes } from "../../contract/routes/worker-routes.ts";
import type { resultBatchAnswer } from "../../contract/shapes/report-shapes.ts";
import type { KeysView } from "../../contract/shapes/trust-view-shapes.ts";
import {
  type ClaimedBatch,
  claimedBatch,
  type refusedClaim,
  type refusedClaimAnswer,
  type workerMetrics,
  type workerRegistration,
} from "../../contract/shapes/worker-shapes.ts";
import { WritError } from "../../core/errors.ts";
import type { HttpClient, HttpStream } from "../../runtime/http/http-client.ts";
import type { LeaseRun } from "../../signing/receipt.ts";
import { type Call, createAttemptCalls } from "../attempt/attempt-calls.ts";
import { type ReceivedLease, readLeasedBatch } from "./read-leased-batch.ts";
import { receivedSignature } from "./received-signature.ts";

/** The route without a check of the signature, which follows later. */
const claimRoute = {
  ...workerRoutes.claimJobs,
  answers: {
    200: { description: "Leased jobs", shape: z.looseObject({ jobs: claimedBatch.shape.jobs }) },
    204: workerRoutes.claimJobs.answers[204],
  },
} as const;

export type Registration = z.input<typeof workerRegistration>;
export type WorkerMetrics = z.input<typeof workerMetrics>;
export type ResultAnswer = z.output<typeof resultBatchAnswer>["items"][number];

/** The outcomes of one call: rows of functions, which only a hub that names the ability `ends` reads, and other items. */
export type Reports = {
  ends: readonly string[];
  items: readonly string[];
  receipts?: { signature: string; leases?: LeaseRun[] } | undefined;
};
type ReportAnswers = {
  refusedEnds: NonNullable<z.output<typeof resultBatchAnswer>["ends"]>;
  items: ResultAnswer[];
};

/** The hub sends a comment every 15 s; if three of them are missing, the stream is dead. */
const commandsIdleMs = 45_000;

/** `bootId` names this process: the leases that it claims are bound to it. */
type Caller = { workerId: string; bootId: string; timeoutMs: number };

export type HubCalls = ReturnType<typeof createHubCalls>;

type ClaimOptions = {
  max: number;
  waitMs: number;
  /** Jobs of these types only; by default those that the worker is registered for. */
  types?: readonly string[] | undefined;
  signal: AbortSignal;
};

/**
 * Every call that a worker makes, except the heartbeat, which has a thread and a connection of its own. `accepts` tells
 * which abilities the hub has beyond version 0.1. Why: ADR 0114.
 */
export function createHubCalls(client: HttpClient, me: Caller) {
  const call: Call = (route, input, { signal, timeoutMs = me.timeoutMs }) =>
    callRoute((request) => client.request({ ...request, signal, timeoutMs }), route, input);
  const registration = createRegistrationCalls(client, call, me);
  const { accepts } = registration;
  return {
    ...registration,
    claim: claimCall(client, me, accepts),
    ...createWorkCalls(call, me),
    ...createAttemptCalls(call, me.workerId),
  };
}

/** The calls by which a worker registers, learns the hub's keys, receives commands and leaves. */
function createRegistrationCalls(client: HttpClient, call: Call, { workerId, bootId }: Caller) {
  let abilities: ReadonlySet<HubAbility> = new Set();
  return {
    async listKeys(signal: AbortSignal): Promise<KeysView> {
      return (await call(adminRoutes.listKeys, {}, { signal })).body;
    },

    /**
     * Registers with a hub that may be older than this worker: first with the fields of version 0.1, then with those
     * that the hub has named, if there are any. Every registration reads the names again, because the hub may have been
     * replaced.
     */
    async register(registration: Registration, signal: AbortSignal): Promise<void> {
      const { agent_problems, ...body } = registration;
      const { header } = await call(workerRoutes.registerWorker, { body }, { signal });
      abilities = readAbilities(header(abilitiesHeader.toLowerCase()));
      if (agent_problems === undefined || !abilities.has("agent_problems")) return;
      await call(workerRoutes.registerWorker, { body: registration }, { signal });
    },

    /** Whether the hub named this ability when the worker last registered. */
    accepts(ability: HubAbility): boolean {
      return abilities.has(ability);
    },

    async removeWorker(signal: AbortSignal): Promise<void> {
      const input = { params: { id: workerId }, query: { boot_id: bootId } };
      await call(adminRoutes.removeWorker, input, { signal });
    },

    openCommands(signal: AbortSignal): Promise<HttpStream> {
      return openRoute(
        (request) => client.openStream({ ...request, signal, idleTimeoutMs: commandsIdleMs }),
        workerRoutes.streamCommands,
        { params: { id: workerId }, headers: { accept: "text/event-stream" } },
      );
    },
  };
}

/** A claim with a lease for each job, or with one for all of them. */
export type ReceivedBatch = ClaimedBatch | ReceivedLease;

/** Asks for one lease if the hub has it, and reads what it answers. */
function claimCall(
  client: HttpClient,
  { workerId, bootId, timeoutMs }: Caller,
  accepts: (ability: HubAbility) => boolean,
): (ask: ClaimOptions) => Promise<ReceivedBatch | null> {
  return async ({ max, waitMs, types, signal }) => {
    const claim = { worker_id: workerId, boot_id: bootId, max, wait_ms: waitMs, types: types && [...types] };
    const body = accepts("batch-lease") ? { ...claim, batch_lease: true } : claim;
    const received = await callRouteForText(
      (request) => client.request({ ...request, signal, timeoutMs: timeoutMs + waitMs }),
      claimRoute,
      { body },
    );
    if (received.status === 204) return null;
    const leased = readLeasedBatch(received.text());
    return leased ?? readClaimedBatch(received);
  };
}

/** Null if there are no jobs. */
function readClaimedBatch(received: Received): ClaimedBatch | null {
  const answer = readAnswer(claimRoute, received);
  if (answer.status === 204 || answer.body.jobs.length === 0) return null;
  return { jobs: answer.body.jobs, batch: receivedSignature.parse(answer.body["batch"]) };
}

/** The calls of a worker for several attempts at once. */
function createWorkCalls(call: Call, { workerId }: Pick<Caller, "workerId">) {
  return {
    /** Everything in it is already JSON text, because results must arrive as they were written. */
    async finishJobs({ ends, items, receipts }: Reports, signal: AbortSignal): Promise<ReportAnswers> {
      const parts = [
        `"worker_id":${JSON.stringify(workerId)}`,
        ...(receipts === undefined ? [] : [`"receipts":${JSON.stringify(receipts)}`]),
        ...(ends.length === 0 ? [] : [`"ends":[${ends.join(",")}]`]),
        `"items":[${items.join(",")}]`,
      ];
      const text = `{${parts.join(",")}}`;
      const { body } = await call(workerRoutes.finishJobs, { body: new JsonText(text) }, { signal });
      if (body.items.length !== items.length || (ends.length > 0 && body.ends === undefined))
        throw new WritError("HTTP_ERROR", "the hub's response does not have one entry for each result");
      return { refusedEnds: body.ends ?? [], items: body.items };
    },

    async refuseClaim(
      report: z.input<typeof refusedClaim>,
      signal: AbortSignal,
    ): Promise<z.output<typeof refusedClaimAnswer>> {
      const input = { params: { id: workerId }, body: report };
      return (await call(workerRoutes.refuseClaim, input, { signal })).body;
    },

    async pushMetrics(metrics: WorkerMetrics, signal: AbortSignal): Promise<void> {
      await call(workerRoutes.saveWorkerMetrics, { params: { id: workerId }, body: metrics }, { signal });
    },
  };
}
