import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { redactText } from "../../../runtime/log/redact.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { HubDeps } from "../../deps.ts";
import { recordEvent } from "./record-event.ts";

type RecordedRequest = {
  identity: Identity;
  origin: Origin;
  params?: unknown;
  query?: unknown;
  body?: unknown;
  outcome: string;
};

/** A watched worker must not fill the log either. */
const recordsPerSecond = 50;
const fieldsMax = 50;
const charsMax = 2_000;

/**
 * Records a request of a watched caller: the caller, the address, the route and the outcome. Of the body it keeps the
 * field names and a hash, never the values: an environment or a result may contain secrets, and the audit trail must
 * not. Why: ADR 0014.
 */
export async function recordRequest(deps: HubDeps, request: RecordedRequest): Promise<void> {
  if (deps.watched.isEmpty) return;
  const subject = subjectsOf(request).find((one) => deps.watched.has(one));
  if (subject === undefined || deps.limits.take(`watch ${subject}`, recordsPerSecond) > 0) return;
  try {
    await write(deps, request, subject);
  } catch (error) {
    // Changes by the request have events of their own; a successful response must not become an error here.
    deps.failures.error(error, "a watched request could not be recorded");
  }
}

async function write(deps: HubDeps, request: RecordedRequest, subject: string): Promise<void> {
  const { identity, origin, params, query, body, outcome } = request;
  await recordEvent(deps, {
    event: "REQUEST_RECORDED",
    tenantId: identity.tenantId,
    origin,
    details: {
      subject,
      outcome,
      role: identity.role,
      token_id: identity.tokenId,
      path: shown(params),
      query: shown(query),
      body: bodyOf(body),
    },
  });
}

function subjectsOf({ identity, params, query, body }: RecordedRequest): string[] {
  const named = [body, query, params].map((part) => fieldOf(part, "worker_id"));
  const workerIds = [identity.workerId, ...named].filter((id) => id !== null);
  const tenants = identity.tenantId === null ? [] : [`tenant:${identity.tenantId}`];
  return [...workerIds.map((id) => `worker:${id}`), ...tenants];
}

function fieldOf(part: unknown, name: string): string | null {
  if (typeof part !== "object" || part === null) return null;
  const value = (part as Record<string, unknown>)[name];
  return typeof value === "string" ? value : null;
}

/** Ids and numbers that passed the route's own shape. */
function shown(part: unknown): string | null {
  return part === undefined ? null : redactText(JSON.stringify(part)).slice(0, charsMax);
}

function bodyOf(body: unknown): { bytes: number; sha256: string; fields?: string[] } | null {
  if (body === undefined || body === null) return null;
  if (body instanceof Uint8Array) return { bytes: body.length, sha256: sha256Hex(body) };
  const text = JSON.stringify(body);
  return {
    bytes: Buffer.byteLength(text),
    sha256: sha256Hex(text),
    fields: Object.keys(body).slice(0, fieldsMax),
  };
}
