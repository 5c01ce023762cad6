import { hasCode, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { type JobToken, verifyJobToken } from "../../../signing/job-token.ts";
import type { HubDeps } from "../../deps.ts";
import { noteFailedLogin } from "../access/note-failed-login.ts";

/** A job token has three parts. Of other tokens, only that of a certificate has dots, and it has a prefix. */
export function isJobToken(bearer: string | null): bearer is string {
  return bearer !== null && /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/.test(bearer);
}

/** Identifies the calling attempt. Each use asks the store whether it still holds its lease. */
export async function authenticateJob(
  deps: HubDeps,
  bearer: string,
  origin: Origin,
): Promise<{ identity: Identity; jobToken: JobToken }> {
  try {
    const jobToken = verifyJobToken(deps.keys, bearer, deps.clock.nowMs());
    const { jobId, attempt, tenantId, workerId } = jobToken;
    const tokenId = `job ${jobId} ${attempt}`;
    return { jobToken, identity: { tokenId, role: "worker", tenantId, userId: tokenId, workerId } };
  } catch (error) {
    if (!hasCode(error, "UNAUTHENTICATED")) throw error;
    const waitMs = await noteFailedLogin(deps, origin, { error: "bad job token" });
    if (waitMs === 0) throw error;
    const details = { retry_after_sec: Math.ceil(waitMs / 1000) };
    throw new WritError("RATE_LIMITED", "too many failed logins from this address", details);
  }
}
