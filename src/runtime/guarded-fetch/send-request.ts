import type { ClientRequest, IncomingMessage } from "node:http";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { CheckedUrl } from "./check-url.ts";
import { FetchError } from "./fetch-error.ts";
import { connectionProblem, guardedLookup, type Network } from "./guarded-lookup.ts";

/** Of several addresses, each is tried for this long before the next one. */
const severalAddresses = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2_500 };

/** Sends one GET over a connection of its own, and resolves with the head of the answer. Follows no redirect. */
export function sendRequest(
  network: Network,
  { url, isAllowed }: CheckedUrl,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: "GET",
      // A connection that is kept for later may have been made under other rules.
      agent: false,
      signal,
      ...(isAllowed ? {} : { lookup: guardedLookup(network) }),
      ...severalAddresses,
      // Whatever the environment says.
      rejectUnauthorized: true,
      // Nothing that identifies the worker, its tenant or the job; and the bytes as they are, never compressed.
      headers: { accept: "*/*", "accept-encoding": "identity", "user-agent": "writ", connection: "close" },
    });
    if (!isAllowed) checkConnection(network, outgoing);
    outgoing.once("response", resolve);
    outgoing.on("error", reject);
    outgoing.end();
  });
}

/** The address that is really connected to is looked at once more, before anything is sent. */
function checkConnection(network: Network, outgoing: ClientRequest): void {
  outgoing.once("socket", (socket) => {
    socket.prependOnceListener("connect", () => {
      const problem = connectionProblem(network, socket.remoteAddress ?? "an unknown address");
      if (problem !== null)
        socket.destroy(new FetchError("forbidden", `the connection leads to an address that is ${problem}`));
    });
  });
}
