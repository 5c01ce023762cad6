import { WritError } from "../../../core/errors.ts";
import type { StoredObject } from "../../../store/object-store.ts";

/** The refusal of a URL whose upload does not exist any more. */
export function uploadGone(): WritError {
  return new WritError(
    "STATE_CONFLICT",
    "the upload of this URL no longer exists: it was not continued for a day, or its file was replaced or deleted; ask for a new URL",
  );
}

/** The refusal of bytes that differ from the file that the URL has completed. */
export function otherBytes({ size, sha256 }: StoredObject): WritError {
  return new WritError(
    "STATE_CONFLICT",
    `this URL has been used for a file of ${size} bytes with the SHA-256 ${sha256}, which never changes; ask for a new URL to replace it`,
  );
}
