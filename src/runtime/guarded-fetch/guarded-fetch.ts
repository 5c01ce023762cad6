import type { Clock } from "../clock/clock.ts";
import type { OpenResponse } from "../http/open-request.ts";
import type { AllowedHost } from "./allowed-host.ts";
import { checkUrl } from "./check-url.ts";
import { FetchError } from "./fetch-error.ts";
import { type Network, systemNetwork } from "./guarded-lookup.ts";
import { networkFailure } from "./network-failure.ts";
import { sendRequest } from "./send-request.ts";
import { type TimeLimits, type TimeWatch, watchTime } from "./time-limits.ts";

export type GuardDeps = {
  clock: Clock;
  /** Hosts that the operator allows beside the public ones. */
  allowedHosts: readonly AllowedHost[];
  network?: Network;
  limits?: TimeLimits;
};

type GuardedRequest = {
  url: string;
  bytesMax: number;
  signal: AbortSignal;
  /** Called with each piece of the body, in order; the next one is read when it has resolved. */
  write(chunk: Buffer, received: Received): Promise<void>;
};

/** How much of the body has arrived, and how much there will be, if the server says so. */
export type Received = { bytes: number; ofBytes: number | null };

const limitsDefault: TimeLimits = { idleMs: 30_000, totalMs: 3_600_000 };
const redirectsMax = 3;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/**
 * Downloads from a URL that somebody else has chosen: only public hosts over https, and hosts that the operator allows.
 * Resolves when the whole body has been written. Rejects with a FetchError, or with the reason of the signal.
 * Why: ADR 0043.
 */
export async function guardedFetch(deps: GuardDeps, request: GuardedRequest): Promise<void> {
  const watch = watchTime(deps.clock, deps.limits ?? limitsDefault);
  const signal = AbortSignal.any([request.signal, watch.signal]);
  try {
    signal.throwIfAborted();
    const response = await followRedirects(deps, request.url, { watch, signal });
    await readBody(response, request, watch);
  } catch (error) {
    // A caller that was aborted gets its signal's reason, and not how the connection ended.
    signal.throwIfAborted();
    throw error;
  } finally {
    watch.end();
  }
}

/** Every hop is a request of its own with the same checks, and none carries anything that another was given. */
async function followRedirects(
  deps: GuardDeps,
  first: string,
  { watch, signal }: { watch: TimeWatch; signal: AbortSignal },
): Promise<OpenResponse> {
  const { clock, allowedHosts, network = systemNetwork } = deps;
  let text = first;
  for (let redirects = 0; redirects <= redirectsMax; redirects++) {
    const checked = checkUrl(text, allowedHosts);
    const response = await fromNetwork(watch, sendRequest({ clock, network }, checked, { signal }));
    const { status, headers } = response;
    if (status === 200) return response;
    response.body.destroy();
    const { host } = checked.url;
    if (!redirectStatuses.has(status)) throw new FetchError("failed", `${host} answered ${status}`);
    const { location } = headers;
    const next = URL.parse(location ?? "", checked.url);
    if (location === undefined || next === null) {
      throw new FetchError("failed", `${host} answered ${status} without a usable location`);
    }
    text = next.href;
  }
  throw new FetchError("failed", `more than ${redirectsMax} redirects`);
}

async function readBody(response: OpenResponse, request: GuardedRequest, watch: TimeWatch): Promise<void> {
  const ofBytes = lengthOf(response);
  const pieces = response.body[Symbol.asyncIterator]();
  let bytes = 0;
  try {
    refuseLarge(ofBytes ?? 0, request.bytesMax);
    for (;;) {
      const piece: IteratorResult<Buffer> = await fromNetwork(watch, pieces.next());
      if (piece.done === true) return;
      bytes += piece.value.length;
      refuseLarge(bytes, request.bytesMax);
      await request.write(piece.value, { bytes, ofBytes });
    }
  } finally {
    response.body.destroy();
  }
}

/** Null for a body in chunks, which says by itself where it ends. */
function lengthOf({ headers }: OpenResponse): number | null {
  const text = headers["content-length"];
  if (text !== undefined) return Number(text);
  if (headers["transfer-encoding"]?.toLowerCase().endsWith("chunked")) return null;
  throw new FetchError(
    "failed",
    "the server did not say how long the file is, so a part could pass for the whole",
  );
}

function refuseLarge(bytes: number, bytesMax: number): void {
  if (bytes > bytesMax) throw new FetchError("too-large", `the file is larger than ${bytesMax} bytes`);
}

/** What goes wrong on the network. An error of the writer, for example a full disk, is passed on as it is. */
async function fromNetwork<T>(watch: TimeWatch, work: Promise<T>): Promise<T> {
  try {
    return await watch.during(work);
  } catch (error) {
    throw error instanceof FetchError ? error : networkFailure(error, "the download");
  }
}
