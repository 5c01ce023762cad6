import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { type Identity, isOfCertificate } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";
import type { StreamGroup } from "../../services/metrics/stream-counts.ts";
import { callerOf } from "./caller-of.ts";
import { noteRateLimit } from "./note-rate-limit.ts";

type StreamKind = "event streams" | "output streams" | "command streams" | "waiting claims" | "MCP calls";
type Opening = { identity: Identity; origin: Origin };
type WorkerOpening = Opening & { workerId: string };
type Group = StreamGroup & { who: string };

/** A worker needs one stream; further ones are connections whose end has not been noticed yet. */
const commandStreamsMax = 4;
/** A worker waits in one claim, a program with many threads in one per thread. */
const waitingClaimsMax = 64;
/** A program that drives a model has one or two at once. */
const mcpCallsMax = 32;
/** All tokens of a tenant together may have this many times the streams of one token. */
const tokensWorth = 4;

/**
 * Counts a stream that stays open, or refuses it if its token or tenant has too many. Call the returned function once,
 * when the stream has ended. Why: ADR 0032.
 */
export function admitEventStream(deps: HubDeps, opening: Opening): Promise<() => void> {
  return admit(deps, opening, "event streams", groupsOf(opening, "events", deps.settings.eventStreamsMax));
}

export function admitOutputStream(deps: HubDeps, opening: Opening): Promise<() => void> {
  return admit(deps, opening, "output streams", groupsOf(opening, "outputs", deps.settings.outputStreamsMax));
}

export function admitCommandStream(deps: HubDeps, opening: WorkerOpening): Promise<() => void> {
  const group = groupOfWorker(opening, "commands", commandStreamsMax);
  return admit(deps, opening, "command streams", [group]);
}

/** A waiting claim stays open like a stream, and every commit examines all of them. */
export function admitWaitingClaim(deps: HubDeps, opening: WorkerOpening): Promise<() => void> {
  const group = groupOfWorker(opening, "claims", waitingClaimsMax);
  return admit(deps, opening, "waiting claims", [group]);
}

/** A call of a tool may wait for a job. */
export function admitMcpCall(deps: HubDeps, opening: Opening): Promise<() => void> {
  const key = `MCP calls of ${callerOf(opening)}`;
  return admit(deps, opening, "MCP calls", [{ key, max: mcpCallsMax, who: callerName(opening.identity) }]);
}

function groupOfWorker({ workerId }: WorkerOpening, what: string, max: number): Group {
  return { key: `${what} of worker ${workerId}`, max, who: `worker ${workerId}` };
}

function groupsOf({ identity, origin }: Opening, what: string, max: number): Group[] {
  const tenant = tenantName(identity);
  return [
    { key: `${what} of ${callerOf({ identity, origin })}`, max, who: callerName(identity) },
    { key: `${what} of ${tenant}`, max: max * tokensWorth, who: tenant },
  ];
}

function tenantName({ tokenId, tenantId }: Identity): string {
  if (tokenId === "") return "callers without a token";
  return tenantId === null ? "tokens for all tenants" : `tenant ${tenantId}`;
}

function callerName(identity: Identity): string {
  if (identity.tokenId === "") return "this address";
  return isOfCertificate(identity) ? "this certificate" : "this token";
}

async function admit(
  deps: HubDeps,
  { identity, origin }: Opening,
  kind: StreamKind,
  groups: readonly Group[],
): Promise<() => void> {
  const full = deps.streamCounts.add(groups);
  if (full === null) return () => deps.streamCounts.remove(groups);
  const { key: subject, max, who } = full;
  await noteRateLimit(deps, { limit: kind, subject, tenantId: identity.tenantId, origin });
  throw new WritError(
    "TOO_MANY_STREAMS",
    `${who}: ${max} ${kind} are open, and no more are allowed; close one of them first`,
    { open_max: max },
  );
}
