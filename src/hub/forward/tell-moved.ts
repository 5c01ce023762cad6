import { errorTable, WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { movedToHeader } from "../../runtime/hubs/moved-hub.ts";
import { discardBody } from "../http/bodies/discard-body.ts";
import type { Listener } from "../http/listener.ts";

/**
 * Answers every request with the hub's new address. It is no HTTP redirect: common clients follow those by themselves
 * to any address, some of them with the token. Why: ADR 0090.
 */
export function tellMoved(to: readonly string[], clock: Clock): Listener {
  const moved = movedError(to);
  const body = JSON.stringify({
    error: { code: moved.code, message: moved.message, details: { moved_to: to } },
  });
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    "Retry-After": "1",
    [movedToHeader]: to.join(", "),
  };
  return (incoming, outgoing) => {
    void discardBody(incoming, clock, moved).then(() => {
      if (!outgoing.destroyed) outgoing.writeHead(errorTable[moved.code].http, headers).end(body);
    });
  };
}

export function movedError(to: readonly string[]): WritError {
  return new WritError("HUB_MOVED", `this hub has moved to ${to.join(", ")}; use that address from now on`);
}
