import { makeReference, type ReferenceFiles } from "./reference-files.ts";

/** The reference of this version. In a bundle, set-up has replaced this file by one that reads what it has made. */
export function loadReference(version: string): ReferenceFiles {
  return makeReference(version);
}
