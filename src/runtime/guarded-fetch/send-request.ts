import type { Socket } from "node:net";
import type { Clock } from "../clock/clock.ts";
import { connectionTo } from "../http/open-connection.ts";
import { type OpenResponse, openRequest } from "../http/open-request.ts";
import type { CheckedUrl } from "./check-url.ts";
import { FetchError } from "./fetch-error.ts";
import { connectionProblem, guardedLookup, type Network } from "./guarded-lookup.ts";

/** Of several addresses, each is tried for this long before the next one. */
const severalAddresses = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2_500 };
/** Nothing that identifies the worker, its tenant or the job; and the bytes as they are, never compressed. */
const headers = { accept: "*/*", "accept-encoding": "identity", "user-agent": "writ", connection: "close" };

type Sent = {
  signal: AbortSignal;
  /** A GET if there is none. */
  post?: { headers: Readonly<Record<string, string>>; body: Uint8Array; timeoutMs: number };
};

/** Sends one request over a connection of its own, and resolves with the head of the answer. Why: ADR 0113. */
export function sendRequest(
  { clock, network }: { clock: Clock; network: Network },
  { url, isAllowed }: CheckedUrl,
  { signal, post }: Sent,
): Promise<OpenResponse> {
  const { host, pathname, search } = url;
  const guard = { lookup: guardedLookup(network) };
  const connection = connectionTo(url, {
    clock,
    net: { ...severalAddresses, ...(isAllowed ? {} : guard) },
    // Whatever the environment says.
    tls: { rejectUnauthorized: true },
    onSocket: isAllowed ? undefined : (socket) => checkAddress(network, socket),
  });
  const call = { host, path: pathname + search, signal, clock };
  if (post === undefined) return openRequest({ ...call, method: "GET", headers }, connection);
  return openRequest(
    { ...call, ...post, method: "POST", headers: { ...headers, ...post.headers } },
    connection,
  );
}

/** The address that is really connected to is looked at once more, before anything is sent. */
function checkAddress(network: Network, socket: Socket): void {
  socket.prependOnceListener("connect", () => {
    const problem = connectionProblem(network, socket.remoteAddress ?? "an unknown address");
    if (problem !== null)
      socket.destroy(new FetchError("forbidden", `the connection leads to an address that is ${problem}`));
  });
}
