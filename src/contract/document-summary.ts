import { jsonExceeds } from "../core/text/json-value.ts";
import type { JobDocument } from "./document.ts";
import { commandOf, hiddenIn, type RunSpec } from "./kinds.ts";

/** A field that is larger as JSON is left out of lists. */
const listedFieldBytesMax = 512;
const commandCharsMax = 400;

/** What a view shows of a document. Why: ADR 0031. */
export type DocumentFacts = Pick<JobDocument, "execution_location"> & {
  run: RunSpec | null;
  params: unknown;
  requires: JobDocument["requires"] | null;
  limits: JobDocument["limits"] | null;
  provider: JobDocument["provider"] | null;
  model: string | null;
  steps: unknown[] | null;
  metadata: Record<string, unknown> | null;
  solver_url: string | null;
  solver_checksum: string | null;
};

/** The same for a list: large fields are null, and `cut` names them. */
export type DocumentSummary = DocumentFacts & { command: string[] | null; cut: string[] };

export function documentFacts(document: JobDocument): DocumentFacts {
  const { run } = document;
  const isSolver = run.kind === "solver";
  return {
    run,
    params: document.params ?? openParams(run),
    requires: document.requires ?? null,
    limits: document.limits ?? null,
    execution_location: document.execution_location,
    provider: document.provider ?? null,
    model: document.model ?? null,
    steps: document.steps ?? null,
    metadata: document.metadata ?? null,
    solver_url: isSolver ? run.url : null,
    solver_checksum: isSolver ? run.checksum : null,
  };
}

export function summarizeDocument(document: JobDocument): DocumentSummary {
  const facts = documentFacts(document);
  const cut = (["params", "run", "requires", "steps", "metadata"] as const).filter((field) =>
    jsonExceeds(facts[field], listedFieldBytesMax),
  );
  const nothing = Object.fromEntries(cut.map((field) => [field, null]));
  return { ...facts, ...nothing, command: shortCommand(document.run), cut };
}

/** Some kinds have the params inside `run`. A kind that hides them there does not show them here. */
function openParams(run: RunSpec): unknown {
  const { params = null } = run as { params?: unknown };
  return hiddenIn(run).includes("params") ? null : params;
}

/** The first words of a command, as many as fit; the last of them may be cut. */
function shortCommand(run: RunSpec): string[] | null {
  const words: string[] = [];
  let left = commandCharsMax;
  for (const word of commandOf(run) ?? []) {
    if (left <= 0) break;
    words.push(word.length <= left ? word : `${word.slice(0, left).toWellFormed()}…`);
    left -= word.length + 1;
  }
  return words.length === 0 ? null : words;
}
