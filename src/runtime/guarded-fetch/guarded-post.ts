import { checkUrl, type UrlPurpose } from "./check-url.ts";
import type { GuardDeps } from "./guarded-fetch.ts";
import { systemNetwork } from "./guarded-lookup.ts";
import { networkFailure } from "./network-failure.ts";
import { sendRequest } from "./send-request.ts";

type GuardedPost = {
  url: string;
  purpose: UrlPurpose;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /** Until the head of the answer, with everything before it. */
  timeoutMs: number;
  signal: AbortSignal;
};

type PostAnswer = { status: number; retryAfterSec: number | null };

/**
 * Posts to a URL that somebody else has chosen, under the same guards as a download. A redirect is an answer like any other, and of
 * an answer only its head is read. Rejects with a FetchError, or with the reason of the signal. Why: ADR 0142.
 */
export async function guardedPost(
  { clock, allowedHosts, network = systemNetwork }: Omit<GuardDeps, "limits">,
  { url, purpose, signal, ...post }: GuardedPost,
): Promise<PostAnswer> {
  const checked = checkUrl(url, allowedHosts, purpose);
  try {
    const { status, headers, body } = await sendRequest({ clock, network }, checked, { signal, post });
    body.destroy();
    return { status, retryAfterSec: secondsIn(headers["retry-after"]) };
  } catch (error) {
    // A caller that was aborted gets its signal's reason, and not how the connection ended.
    signal.throwIfAborted();
    throw networkFailure(error, "the call");
  }
}

/** A date, the other form of the header, would trust the other side's clock. */
function secondsIn(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) : null;
}
