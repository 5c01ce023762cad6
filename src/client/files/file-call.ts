import { fileRoutes } from "../../contract/routes/file-routes.ts";
import type { FileUrlRequest } from "../../contract/shapes/storage-shapes.ts";
import { WritError } from "../../core/errors.ts";
import type { PresignedUrl } from "../../transfer/transfer-deps.ts";
import { TransferFailure } from "../../transfer/transfer-failure.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import { Pace } from "../hub/pace.ts";

/** Asks for fresh URLs of one transfer, also while the hub is away after it has answered once. */
export function urlSource(hub: HubCaller, signal: AbortSignal, ask: () => Promise<string | PresignedUrl>) {
  const pace = new Pace(hub);
  return async (): Promise<PresignedUrl> => {
    for (;;) {
      try {
        const url = await ask();
        pace.answered();
        return typeof url === "string" ? { url } : url;
      } catch (error) {
        await pace.pauseAfter(error, signal);
      }
    }
  };
}

/** One URL for a file of the caller. */
export async function presign(
  hub: HubCaller,
  wish: FileUrlRequest,
  signal?: AbortSignal,
): Promise<PresignedUrl> {
  const { urls } = (await hub.call(fileRoutes.presignFiles, { body: [wish] }, { signal })).body;
  if (urls[0] !== undefined) return urls[0];
  throw new WritError("HTTP_ERROR", "the hub's response contains no URL");
}

const codes = {
  unavailable: "FILES_UNAVAILABLE",
  expired: "FILES_UNAVAILABLE",
  refused: "HTTP_ERROR",
  missing: "NOT_FOUND",
  mismatch: "CHECKSUM_MISMATCH",
  changed: "STATE_CONFLICT",
  "too-large": "TOO_LARGE",
} as const;

/** Runs a transfer; whatever goes wrong with it is a WritError that names the file. */
export async function asWritErrors<T>(name: string, transfer: () => Promise<T>): Promise<T> {
  try {
    return await transfer();
  } catch (error) {
    if (!(error instanceof TransferFailure)) throw error;
    throw new WritError(codes[error.problem], `${name}: ${error.message}`);
  }
}
