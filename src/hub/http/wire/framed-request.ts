import type { IncomingMessage } from "node:http";
import { readHeaders } from "../../../runtime/wire/read-payload.ts";
import { WireProblem } from "../../../runtime/wire/wire-problem.ts";
import { type Exchange, type RequestHead, targetOf } from "../exchange.ts";

/** What a head says: requests with the same head share it, so nothing changes it. */
export type FramedRequest = { incoming: RequestHead } & Pick<Exchange, "path" | "search">;

/** Of the request for the upgrade: they hold for every request on the connection. */
const connectionHeaders = ["host", "authorization", "user-agent", "x-forwarded-for"];
/** What a request in a frame may say itself. Never a cookie, a host or an origin. */
const ownHeaders = new Set([
  "accept",
  "authorization",
  "content-type",
  "traceparent",
  "user-agent",
  "x-idempotency-key",
  "x-job-attempt",
  "x-lease-token",
  "x-worker-id",
]);
const headsMax = 64;
/** Longer heads are rare; keeping them would let a client fill the hub's memory. */
const keptHeadMax = 512;

/** Reads the heads of requests on one connection. Clients send the same few again and again, so these are read once. */
export class FramedRequests {
  readonly #upgrade: IncomingMessage;
  readonly #common: Record<string, string>;
  readonly #known = new Map<string, FramedRequest>();

  constructor(upgrade: IncomingMessage) {
    this.#upgrade = upgrade;
    const given = connectionHeaders.map((name) => [name, upgrade.headers[name]] as const);
    this.#common = Object.fromEntries(
      given.filter((each): each is [string, string] => typeof each[1] === "string"),
    );
  }

  /** Throws a WireProblem if it is no head of a request. */
  read(head: string): FramedRequest {
    const known = this.#known.get(head);
    if (known !== undefined) return known;
    const request = this.#parse(head);
    if (head.length > keptHeadMax) return request;
    if (this.#known.size === headsMax) this.#known.clear();
    this.#known.set(head, request);
    return request;
  }

  #parse(head: string): FramedRequest {
    const [line = "", ...lines] = head.split("\n");
    const match = /^([A-Z]{3,7}) (\/[\x21-\xff]*)$/.exec(line);
    if (match === null)
      throw new WireProblem("bad-frame", "a request does not begin with a method and a path");
    const [, method, url] = match as unknown as [string, string, string];
    const own = Object.entries(readHeaders(lines)).filter(([name]) => ownHeaders.has(name));
    const headers = { ...this.#common, "content-type": "application/json", ...Object.fromEntries(own) };
    const { socket } = this.#upgrade;
    return {
      incoming: { method, url, headers, rawHeaders: Object.entries(headers).flat(), socket },
      ...targetOf(url),
    };
  }
}
