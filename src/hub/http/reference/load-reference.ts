import { makeReference, type ReferenceFiles } from "./reference-files.ts";

/** The reference of this version. In a bundle, set-up replaces this file by one that reads the prepared files. */
export function loadReference(version: string): ReferenceFiles {
  return makeReference(version);
}
