import type { LookupAddress } from "node:dns";
import { connect, isIP, type LookupFunction, type OnReadOpts, type Socket } from "node:net";
import type { EgressHost } from "../../core/egress.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { Turns } from "../../runtime/clock/turns.ts";
import { untilAborted } from "../../runtime/clock/until-aborted.ts";
import type { Network } from "../../runtime/guarded-fetch/guarded-lookup.ts";
import { addressProblem, type EgressRules, hostProblem } from "./egress-rules.ts";

export type ConnectDeps = {
  rules: EgressRules;
  network: Network;
  clock: Clock;
  /** Names are resolved in threads that the whole worker shares: the turns of the worker, and those of the job. */
  lookups: { worker: Turns; job: Turns };
};

/** `denied`: the job may not; `failed`: it may, but the name or the server is not there. `why` continues a sentence about the host. */
export class NotConnected extends Error {
  readonly kind: "denied" | "failed";
  readonly why: string;

  constructor(kind: "denied" | "failed", { host, port }: EgressHost, why: string) {
    super(`${host}:${port} ${why}`);
    this.name = "NotConnected";
    this.kind = kind;
    this.why = why;
  }
}

type ConnectOptions = {
  signal: AbortSignal;
  /** Takes what arrives, instead of the socket's own buffers. */
  onread?: OnReadOpts | undefined;
};

/** For the name and the connection together. */
const connectMs = 20_000;
const perAddressMs = 2_500;
const addressesMax = 16;

/**
 * Connects to a host that the job has asked for. The name is resolved here and once, every address is checked, and the
 * connection is made to one that was checked, so a name server that changes its mind gains nothing. Rejects with
 * NotConnected. Why: ADR 0120.
 */
export async function connectChecked(
  deps: ConnectDeps,
  wanted: EgressHost,
  { signal, onread }: ConnectOptions,
): Promise<Socket> {
  const problem = hostProblem(deps.rules, wanted);
  if (problem !== null) throw new NotConnected("denied", wanted, problem);
  return connectToAllowed(deps, wanted, { signal, onread });
}

/** The same for a host that needs to be in no list, because the worker's own settings name it. */
export async function connectToAllowed(
  deps: ConnectDeps,
  wanted: EgressHost,
  { signal, onread }: ConnectOptions,
): Promise<Socket> {
  const deadline = new AbortController();
  const timer = deps.clock.setTimer(
    () => deadline.abort(new NotConnected("failed", wanted, "did not answer in time")),
    connectMs,
  );
  const either = AbortSignal.any([signal, deadline.signal]);
  try {
    const addresses = await untilAborted(resolveChecked(deps, wanted, either), either);
    return await open(deps, wanted, addresses, { signal: either, onread });
  } finally {
    timer.cancel();
  }
}

async function resolveChecked(
  deps: ConnectDeps,
  wanted: EgressHost,
  signal: AbortSignal,
): Promise<LookupAddress[]> {
  const { rules, network } = deps;
  const found = await addressesOf(deps, wanted, signal);
  const problems = found.map(({ address }) =>
    addressProblem(rules, network, { host: address, port: wanted.port }),
  );
  const good = found.filter((_, index) => problems[index] === null);
  if (good.length > 0) return good.slice(0, addressesMax);
  throw new NotConnected("denied", wanted, problems.find((problem) => problem !== null) ?? "has no address");
}

async function addressesOf(
  { network, lookups }: ConnectDeps,
  wanted: EgressHost,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const { host } = wanted;
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  try {
    const resolve = async () => (signal.aborted ? [] : network.resolve(host));
    return await lookups.job.take(() => lookups.worker.take(resolve));
  } catch {
    // A resolver has many errors, and for the job they are one. The reason of an abort comes first.
    signal.throwIfAborted();
    throw new NotConnected("failed", wanted, "cannot be resolved");
  }
}

function open(
  { rules, network }: ConnectDeps,
  wanted: EgressHost,
  addresses: LookupAddress[],
  { signal, onread }: ConnectOptions,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: "checked",
      port: wanted.port,
      lookup: lookupOf(addresses),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: perAddressMs,
      allowHalfOpen: true,
      ...(onread === undefined ? {} : { onread }),
    });
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", () => fail(new NotConnected("failed", wanted, "cannot be reached")));
    socket.once("connect", () => {
      // What is really connected to is looked at once more, before a byte is sent.
      const at = { host: socket.remoteAddress ?? "", port: wanted.port };
      const problem = addressProblem(rules, network, at);
      if (problem !== null) return fail(new NotConnected("denied", wanted, problem));
      signal.removeEventListener("abort", onAbort);
      socket.removeAllListeners("error");
      socket.on("error", () => {});
      socket.setNoDelay(true);
      resolve(socket);
    });
    if (signal.aborted) onAbort();
  });
}

/** It answers with what was checked, whatever it is asked. */
function lookupOf(addresses: LookupAddress[]): LookupFunction {
  const [first] = addresses;
  return (_host, options, callback) => {
    if (options.all) callback(null, addresses);
    else callback(null, first!.address, first!.family);
  };
}
