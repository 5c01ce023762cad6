import { readFileSync } from "node:fs";
import { openApi } from "./openapi.ts";
import { referencePage } from "./reference-page.ts";

/** The reference, as finished files. Why: ADR 0035. */
export type ReferenceFiles = { page: string; style: string; script: string; openApi: string };

/**
 * Makes the reference. Set-up does this once and keeps the result beside the bundled programs, because describing every
 * shape takes time and megabytes; a program that runs from its sources does it at the first request.
 */
export function makeReference(version: string): ReferenceFiles {
  const document = openApi(version);
  return {
    page: referencePage(document, version),
    style: textOf("reference.css"),
    script: textOf("reference.js"),
    openApi: JSON.stringify(document),
  };
}

function textOf(name: string): string {
  return readFileSync(`${import.meta.dirname}/${name}`, "utf8");
}
