import { hasCode, WritError } from "../../core/errors.ts";
import type { JobTokenSource } from "../../runners/runner.ts";
import type { PresignedUrl, TransferDeps } from "../../transfer/transfer-deps.ts";
import { TransferFailure } from "../../transfer/transfer-failure.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import { type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";

export type FileDeps = RetryDeps & { calls: Pick<HubCalls, "presignFile">; transfer: TransferDeps };

/** The attempt whose files are transferred. */
export type FileAttempt = { held: HeldJob; jobToken: JobTokenSource; signal: AbortSignal };

type FileRequest = {
  folderId: string;
  objectKey: string;
  method: "GET" | "PUT";
  size?: number;
  sha256?: string;
};

/**
 * Requests a fresh URL from the hub, and retries while the hub is away. A refusal of this file is thrown as a
 * TransferFailure; any other error, for example a lost lease, is thrown unchanged.
 */
export async function fileUrl(
  deps: FileDeps,
  attempt: FileAttempt,
  request: FileRequest,
): Promise<PresignedUrl> {
  const { held, jobToken, signal } = attempt;
  return retryWhileAway(deps, signal, async (callSignal) => {
    const ask = (token: string) =>
      deps.calls.presignFile(held.lease, { ...request, jobToken: token }, callSignal);
    try {
      return await ask(await jobToken.get()).catch(async (error: unknown) => {
        // The key that signed it was revoked, or this machine was asleep.
        if (hasCode(error, "UNAUTHENTICATED")) return ask(await jobToken.renew());
        throw error;
      });
    } catch (error) {
      throw refusalOf(error, request);
    }
  });
}

const gone = ["NOT_FOUND", "FILE_REMOVED"];
const refused = ["PERMISSION_DENIED", "INVALID_ARGUMENT", "QUOTA_EXCEEDED", "STORAGE_FULL", "TOO_LARGE"];

function refusalOf(error: unknown, { method }: FileRequest): unknown {
  if (!(error instanceof WritError) || ![...gone, ...refused].includes(error.code)) return error;
  const isMissing = method === "GET" && [...gone, "PERMISSION_DENIED"].includes(error.code);
  return new TransferFailure(isMissing ? "missing" : "refused", `${error.code}: ${error.message}`);
}
