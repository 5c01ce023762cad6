import { type JobDocument, jobDocument } from "../../contract/document.ts";
import { isJobId } from "../../core/ids.ts";
import type { JsonObject } from "../../core/text/json-value.ts";

/**
 * Reads the document of a plain job for a handler, whose fields are the few that every job has. Null for any other
 * document: the shape then reads it, or says what is wrong. What is accepted here is the same there;
 * `plain-document.test.ts` compares the two. Why: ADR 0124.
 */
export function readPlainDocument(document: JsonObject): JobDocument | null {
  const names = Object.keys(document);
  if (names.length !== fieldNames.length || !names.every((name, index) => name === fieldNames[index]))
    return null;
  const isPlain =
    isText(document["job_id"], isJobId) &&
    isText(document["idempotency_key"], (key) => madeKey.test(key)) &&
    isHandlerRun(document["run"]) &&
    sharedNames.every((name) => isAllowed(name, document[name]));
  return isPlain ? (document as unknown as JobDocument) : null;
}

/** The key that the hub makes for a job whose producer names none. */
const madeKey = /^sha256:[0-9a-f]{64}$/;

/** Fields that most jobs of a worker have in common. */
const sharedNames = [
  "created_at_ts",
  "execution_location",
  "max_attempts",
  "priority",
  "status",
  "tenant_id",
  "timeout_sec",
  "type",
  "user_id",
] as const;
type SharedName = (typeof sharedNames)[number];

/** In canonical order, in which every verified document has them. */
const fieldNames: readonly string[] = [...sharedNames, "idempotency_key", "job_id", "run"].sort();

/** The value of each shared field that its shape has accepted last. */
const accepted = new Map<SharedName, unknown>();

function isAllowed(name: SharedName, value: unknown): boolean {
  if (accepted.get(name) === value) return value !== undefined;
  if (!jobDocument.shape[name].safeParse(value).success) return false;
  accepted.set(name, value);
  return true;
}

function isText(value: unknown, isFine: (text: string) => boolean): boolean {
  return typeof value === "string" && isFine(value);
}

function isHandlerRun(run: unknown): boolean {
  if (typeof run !== "object" || run === null) return false;
  const { kind, ...others } = run as Record<string, unknown>;
  const names = Object.keys(others);
  return kind === "handler" && (names.length === 0 || (names.length === 1 && names[0] === "params"));
}
