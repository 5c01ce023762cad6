import type { Duplex } from "node:stream";
import type { EgressHost } from "../../core/egress.ts";
import type { ConnectDeps } from "./connect-checked.ts";
import { NotConnected } from "./connect-checked.ts";
import type { Injection } from "./injection.ts";
import type { NetworkLog } from "./network-log.ts";

/** What the proxy of one attempt works with. */
export type EgressAttempt = ConnectDeps & {
  log: NetworkLog;
  /** The keys that it adds, by the host that they are for. */
  injections: ReadonlyMap<string, Injection>;
  /** Aborted when the attempt is over. */
  signal: AbortSignal;
  /** Certificates that are trusted beside the usual ones; only for requests that a key is added to. */
  ca?: readonly string[] | undefined;
};

/** A connection that nothing passes over for so long is ended: some models think for minutes. */
export const idleMs = 900_000;
/** For the first bytes of a connection, and for what says where it shall lead. */
export const greetingMs = 20_000;

export function textOf({ host, port }: EgressHost): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Notes how a request ended that was not answered by the server it was for; the text is for the job. */
export function noteRefusal(log: NetworkLog, wanted: EgressHost, error: unknown): string {
  if (!(error instanceof NotConnected)) throw error;
  if (error.kind === "denied") log.deny(textOf(wanted), error.why);
  else log.allow(textOf(wanted));
  return `${textOf(wanted)} ${error.why}${error.kind === "denied" ? " (the network of this job is closed)" : ""}`;
}

/** Ends a stream as soon as the attempt is over; returns what forgets that. */
export function endWith(stream: Duplex, signal: AbortSignal): void {
  const end = (): void => void stream.destroy();
  signal.addEventListener("abort", end, { once: true });
  stream.once("close", () => signal.removeEventListener("abort", end));
  if (signal.aborted) end();
}
