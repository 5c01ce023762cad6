import { expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { HubPresence } from "../hub/hub-presence.ts";
import { fileUrl } from "./file-urls.ts";

/** Requests a file that does not exist; the hub accepts only the second token. */
function ask(method: "GET" | "PUT", refusal: WritError): Promise<unknown> {
  const clock = handClock();
  const presignFile = async (_: unknown, { jobToken }: { jobToken: string }) => {
    throw jobToken === "new" ? refusal : new WritError("UNAUTHENTICATED", "the token is not valid");
  };
  const deps = {
    clock,
    random: () => 0,
    presence: new HubPresence(silentLogger, clock),
    calls: { presignFile },
  };
  const jobToken = { get: async () => "old", renew: async () => "new" };
  const { signal } = new AbortController();
  const request = { folderId: "f", objectKey: "k", method };
  return fileUrl(deps as never, { held: { lease: {} }, jobToken, signal } as never, request);
}

test("an answer to a renewed token is handled like an answer to the first", async () => {
  const missing = ask("GET", new WritError("NOT_FOUND", "there is no such file"));
  await expect(missing).rejects.toMatchObject({ name: "TransferFailure", problem: "missing" });
  const refused = ask("PUT", new WritError("QUOTA_EXCEEDED", "the folder is full"));
  await expect(refused).rejects.toMatchObject({ name: "TransferFailure", problem: "refused" });
  const lost = ask("GET", new WritError("LEASE_LOST", "the lease is over"));
  await expect(lost).rejects.toMatchObject({ code: "LEASE_LOST" });
});
