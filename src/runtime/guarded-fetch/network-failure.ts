import { ConnectionFailure } from "../http/connection-failure.ts";
import { FetchError } from "./fetch-error.ts";

/** What went wrong on the network, for a person who chose the URL. */
export function networkFailure(error: unknown, what: "the download" | "the call"): FetchError {
  if (error instanceof FetchError) return error;
  const cause = error instanceof ConnectionFailure ? error.cause : undefined;
  if (cause instanceof FetchError) return cause;
  // Of several addresses that were tried, the error has a code and no message.
  const { message, code } = (cause ?? error) as NodeJS.ErrnoException;
  return new FetchError("failed", `${what} failed: ${message || code || "the connection was lost"}`);
}
