import { bodyBytes } from "../../../contract/routes/route.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { toPlain } from "../../../core/text/json-value.ts";
import { type Allowance, parseAllowance } from "../../../mcp/allowance.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import { admitMcpCall } from "../../use-cases/access/admit-stream.ts";
import { authenticate } from "../../use-cases/access/authenticate.ts";
import { callerOf } from "../../use-cases/access/caller-of.ts";
import { recordDenial } from "../../use-cases/access/record-denial.ts";
import type { Endpoint } from "../app.ts";
import { keysMaxOf, readJsonText } from "../bodies/read-body.ts";
import type { HttpDeps } from "../call.ts";
import { checkSite, credentialsOf, hubUrlOf, originOf } from "../credentials.ts";
import { type Exchange, headerOf, type RequestHead } from "../exchange.ts";
import type { Reply } from "../reply.ts";
import type { Router } from "../router.ts";
import { anonymous, hangUpSignal } from "../serve-route.ts";
import { hubForCaller } from "./hub-for-caller.ts";

const path = "/mcp";

/** The tools for programs that drive models, if this hub is set to serve them. Why: ADR 0119. */
export function addMcp(router: Router<Endpoint>, deps: HttpDeps): void {
  const { mcp } = deps.settings;
  if (mcp === null) return;
  const allowed: Allowance = mcp === "read" ? new Set() : parseAllowance(mcp)!;
  router.add("POST", path, (exchange) => serveMcp(deps, exchange, allowed));
}

async function serveMcp(deps: HttpDeps, exchange: Exchange, allowed: Allowance): Promise<Reply> {
  const { incoming } = exchange;
  const origin = originOf(incoming, deps.settings, { method: "POST", endpoint: path });
  const caller = { identity: anonymous, origin };
  try {
    checkSite(incoming, deps.settings);
    // Never the session cookie: a browser sends that by itself.
    const { bearer } = credentialsOf(deps, incoming);
    const identity = await authenticate(deps, { bearer, session: null }, origin);
    exchange.identity = identity;
    Object.assign(caller, { identity, origin: { ...origin, userId: identity.userId } });
    checkPerson(identity);
    const release = await admitMcpCall(deps, caller);
    try {
      return await answer(deps, exchange, { ...caller, allowed });
    } finally {
      release();
    }
  } catch (error) {
    throw await recordDenial(deps, caller, error);
  }
}

function checkPerson({ role }: Identity): void {
  if (role !== "worker") return;
  throw new WritError("PERMISSION_DENIED", "a worker token may not use the tools");
}

type Caller = { identity: Identity; origin: Origin; allowed: Allowance };

async function answer(deps: HttpDeps, exchange: Exchange, caller: Caller): Promise<Reply> {
  const { incoming } = exchange;
  const limits = { bytesMax: bodyBytes.ordinary, bodies: deps.bodies, caller: callerOf(caller) };
  const text = await readJsonText(exchange, limits);
  const body = text === undefined ? undefined : parseJson(text, { keysMax: keysMaxOf(limits.bytesMax) });
  if (Array.isArray(body)) {
    // One call would be many, and would count as one.
    throw new WritError("INVALID_ARGUMENT", "the request: must be one message of JSON-RPC, not a batch");
  }
  // Loaded at the first call: a hub whose tools anonymous uses does not pay for them.
  const { answerHttp } = await import("../../../mcp/serve-http.ts");
  const signal = hangUpSignal(exchange);
  const options = {
    hub: hubForCaller(deps, { exchange, signal, ...caller }),
    allowed: caller.allowed,
    version: deps.version,
    nonce: () => deps.ids.recordId().slice(-12),
    allowHelp: "this hub does not offer it; its WRIT_MCP says what it offers",
    onError: (error: unknown) => deps.failures.error(error, "a tool of MCP failed"),
  };
  const url = `${hubUrlOf(incoming, deps.settings)}${path}`;
  const plain = body === undefined ? undefined : toPlain(body);
  return answerHttp(options, { url, headers: headersOf(exchange, incoming), body: plain, signal });
}

/** Only what the protocol reads: no credential goes further than this. */
function headersOf(exchange: Exchange, { headers }: RequestHead): Record<string, string> {
  const names = Object.keys(headers).filter((name) => /^(?:accept|content-type|mcp-[a-z-]+)$/.test(name));
  return Object.fromEntries(names.map((name) => [name, headerOf(exchange, name) ?? ""]));
}
