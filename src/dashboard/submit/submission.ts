import type { z } from "zod";
import { kinds, type RunKind } from "../../contract/kinds.ts";
import { type JobSubmission, jobSubmission } from "../../contract/shapes/submit-shapes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { fieldLabels } from "./field-labels.ts";
import { joinWords, splitWords } from "./shell-words.ts";

/** How a person enters a field of `run`; it follows from the field's shape. */
type Control = "words" | "list" | "pairs" | "text" | "number" | "json" | "base64";
export type RunField = { name: string; control: Control; isRequired: boolean };

export type Draft = {
  kind: RunKind;
  /** The fields of `run`, as text. */
  run: Record<string, string>;
  /** The other fields, as text. */
  fields: Record<(typeof commonFields)[number], string>;
  /** The remaining fields of a copied job, which are submitted unchanged. */
  rest: Record<string, unknown>;
  /** The input files of a copied job, which have been uploaded already. */
  files: Record<string, unknown>;
};

const commonFields = [
  "type",
  "priority",
  "max_attempts",
  "timeout_sec",
  "cpu",
  "memory",
  "pids",
  "network",
  "tags",
  "execution_location",
  "run_at",
] as const;

/** Stored files: they are uploaded first, which the form does not do. */
const fileNames = ["inputs", "stdin_from"];
const commandNames = ["argv", "worker_command"];

/** The fields of a kind, in the order of its shape. */
export function runFields(kind: RunKind): RunField[] {
  const shape = kinds[kind].shape.shape as Record<string, z.ZodType>;
  return Object.entries(shape)
    .filter(([name]) => name !== "kind" && !fileNames.includes(name))
    .map(([name, field]) => ({ name, control: controlOf(name, field), isRequired: !field.isOptional() }));
}

function controlOf(name: string, field: z.ZodType): Control {
  const type = bareType(field);
  if (name === "stdin") return "base64";
  if (type === "array") return commandNames.includes(name) ? "words" : "list";
  if (type === "record") return "pairs";
  if (type === "number") return "number";
  return type === "string" ? "text" : "json";
}

function bareType(field: z.ZodType): string {
  const def = field.def as { type: string; innerType?: z.ZodType };
  return def.type === "optional" && def.innerType !== undefined ? bareType(def.innerType) : def.type;
}

export function emptyDraft(): Draft {
  return {
    kind: "exec",
    run: {},
    fields: Object.fromEntries(commonFields.map((name) => [name, ""])) as Draft["fields"],
    rest: {},
    files: {},
  };
}

/** A draft that submits the same job again. */
export function draftOf(job: JobView): Draft {
  const kind = job.run !== null && job.run.kind in kinds ? (job.run.kind as RunKind) : "handler";
  const run = { ...(job.run as Record<string, unknown> | null) };
  if (kind === "handler" && run["params"] === undefined) run["params"] = job.params;
  const known = runFields(kind);
  const draft = emptyDraft();
  return {
    kind,
    run: Object.fromEntries(known.map(({ name, control }) => [name, showValue(run[name], control)])),
    fields: {
      ...draft.fields,
      type: job.type,
      priority: String(job.priority),
      max_attempts: String(job.max_attempts),
      timeout_sec: String(job.submitted_timeout_sec ?? job.timeout_sec),
      cpu: job.limits?.cpu ?? "",
      memory: job.limits?.memory ?? "",
      pids: job.limits?.pids === undefined ? "" : String(job.limits.pids),
      network: job.limits?.network ?? "",
      tags: (job.requires?.tags ?? []).join(", "),
      execution_location: job.execution_location ?? "",
    },
    rest: restOf(job),
    files: Object.fromEntries(Object.entries(run).filter(([name]) => fileNames.includes(name))),
  };
}

function restOf(job: JobView): Record<string, unknown> {
  const { metadata, steps, provider, model } = job;
  const given = Object.entries({ metadata, steps, provider, model }).filter(([, value]) => value !== null);
  return Object.fromEntries(given);
}

function showValue(value: unknown, control: Control): string {
  if (value === undefined || value === null) return "";
  if (control === "words") return joinWords(value as string[]);
  if (control === "list") return (value as string[]).join(", ");
  if (control === "pairs")
    return Object.entries(value)
      .map(([name, text]) => `${name}=${text}`)
      .join("\n");
  if (control === "base64") return decodeBase64(String(value));
  return control === "json" ? JSON.stringify(value, null, 2) : String(value);
}

export type Problems = { path: string; message: string }[];

/** The name of the field that a path of the request belongs to; the path itself where the form has none. */
export function labelAt(path: string): string {
  const names = path.split(".").filter((name) => !/^\d+$/.test(name));
  return names.map((name) => fieldLabels[name]).findLast((label) => label !== undefined) ?? path;
}

/** What would be submitted, and its problems with the messages of the shapes. */
export function readDraft({ kind, run, fields, rest, files }: Draft): {
  body: unknown;
  job: JobSubmission | null;
  problems: Problems;
} {
  const unreadable: Problems = [];
  const note = (path: string, message: string) => unreadable.push({ path, message });
  // The shape requires a type only when all other fields are valid.
  if (fields.type === "") note("type", "is required");
  const runValues: Record<string, unknown> = { kind, ...files };
  for (const { name, control } of runFields(kind)) {
    const value = readValue(run[name] ?? "", control, (message) => note(`run.${name}`, message));
    if (value !== undefined) runValues[name] = value;
  }
  const body = withoutEmpty({
    ...rest,
    type: fields.type,
    run: runValues,
    priority: numberIn(fields.priority),
    max_attempts: numberIn(fields.max_attempts),
    timeout_sec: numberIn(fields.timeout_sec),
    limits: withoutEmpty({
      cpu: fields.cpu,
      memory: fields.memory,
      pids: numberIn(fields.pids),
      network: fields.network,
    }),
    requires: withoutEmpty({ ...(rest["requires"] as object | undefined), tags: listIn(fields.tags) }),
    execution_location: fields.execution_location,
    run_at: momentIn(fields.run_at, (message) => note("run_at", message)),
  });
  const { success, data, error } = jobSubmission.safeParse(body);
  const issues = success ? [] : error.issues.map((issue) => problemOf(issue, body));
  const problems = [
    ...unreadable,
    ...issues.filter(({ path }) => !unreadable.some((known) => known.path === path)),
  ];
  return { body, job: problems.length === 0 ? (data ?? null) : null, problems };
}

/** The message of the shape, or "is required" for a field that is missing. */
function problemOf(issue: z.core.$ZodIssue, body: unknown): Problems[number] {
  const { path } = issue;
  // The issue of a key says only that the key is wrong; the issue inside it says what is allowed.
  if (issue.code === "invalid_key")
    return {
      path: path.slice(0, -1).join("."),
      message: `${String(path.at(-1))}: ${issue.issues[0]?.message}`,
    };
  const value = path.reduce<unknown>(
    (at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step],
    body,
  );
  return { path: path.join("."), message: value === undefined ? "is required" : issue.message };
}

function readValue(text: string, control: Control, onProblem: (message: string) => void): unknown {
  if (text.trim() === "") return undefined;
  if (control === "words") return wordsIn(text, onProblem);
  if (control === "list") return listIn(text);
  if (control === "number") return numberIn(text);
  if (control === "pairs") return pairsIn(text, onProblem);
  if (control === "base64") return encodeBase64(text);
  if (control === "text") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The form does not show the parser's own message, which names a position only.
    onProblem("must be JSON");
    return undefined;
  }
}

function wordsIn(text: string, onProblem: (message: string) => void): string[] | undefined {
  const words = splitWords(text);
  if (words === null) onProblem("has a quote that is not closed");
  return words ?? undefined;
}

function pairsIn(text: string, onProblem: (message: string) => void): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.some((line) => !line.includes("="))) onProblem("must have NAME=value in each line");
  return Object.fromEntries(
    lines
      .filter((line) => line.includes("="))
      .map((line) => [line.slice(0, line.indexOf("=")).trim(), line.slice(line.indexOf("=") + 1)]),
  );
}

function listIn(text: string): string[] | undefined {
  const items = text.split(/[,\s]+/).filter((item) => item !== "");
  return items.length === 0 ? undefined : items;
}

/** Text that is not a number stays text, and the shape refuses it with what is allowed. */
function numberIn(text: string): number | string | undefined {
  if (text.trim() === "") return undefined;
  return Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Reads the format of a browser's field for a date and a time. */
function momentIn(text: string, onProblem: (message: string) => void): number | undefined {
  if (text.trim() === "") return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) onProblem(`must be a date and a time, such as 2026-01-31T08:00, not "${text}"`);
  return Number.isNaN(at) ? undefined : at;
}

function withoutEmpty(values: Record<string, unknown>): Record<string, unknown> | undefined {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function encodeBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

function decodeBase64(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  } catch {
    // A job's stdin that is not base64 cannot be shown as text.
    return "";
  }
}
