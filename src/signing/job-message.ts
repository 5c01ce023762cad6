import { createHmac, timingSafeEqual } from "node:crypto";
import { WritError } from "../core/errors.ts";
import { type JsonObject, type JsonValue, toPlain } from "../core/text/json-value.ts";
import { canonicalize } from "./canonical.ts";
import { parseJson } from "./parse-json.ts";

/** What is sent about a job, by the hub and by the registry alike. Why: ADR 0050. */
export type JobMessage = {
  schema_version: 1;
  job_id: string;
  /** Rises by 1 with each message about a job; one that comes twice has the number that it had. */
  seq: number;
  event: string;
  /** In the words of the registry: pending, running, completed, error, cancelled. */
  status: string | null;
  ts: string;
  data: unknown;
  /** The MAC, in hex, of the canonical form of all the rest. */
  auth?: string;
};

export type NewMessage = Omit<JobMessage, "schema_version" | "auth" | "data"> & { data: JsonValue };

/**
 * The message as it is sent: its canonical form, so that a program that checks the MAC gets the same bytes from any
 * JSON library that can sort keys.
 */
export function buildMessage(message: NewMessage, key: string | null): string {
  const { job_id, seq, event, status, ts, data } = message;
  const fields: JsonObject = { schema_version: 1, job_id, seq, event, status, ts, data };
  const text = canonicalize(fields);
  return key === null ? text : canonicalize({ ...fields, auth: authOf(text, key) });
}

/** A message that arrived, and whether it carries the MAC of this key; without a key, any message verifies. */
export function readMessage(
  text: string,
  key: string | null,
): { message: JobMessage; isAuthentic: boolean } | null {
  const parsed = parseMessage(text);
  if (parsed === null) return null;
  const { auth, ...fields } = parsed;
  const isAuthentic = key === null || hasAuth(auth, authOf(canonicalize(fields), key));
  return { message: toPlain(parsed) as JobMessage, isAuthentic };
}

function parseMessage(text: string): JsonObject | null {
  try {
    const value = parseJson(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    const { job_id, seq, event, status, ts } = value as JsonObject;
    const isWhole = [job_id, event, ts].every((field) => typeof field === "string");
    const isStatus = status === null || typeof status === "string";
    return isWhole && isStatus && Number.isInteger(seq) ? { ...(value as JsonObject) } : null;
  } catch (error) {
    if (error instanceof WritError) return null;
    throw error;
  }
}

function authOf(text: string, key: string): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

function hasAuth(given: JsonValue | undefined, expected: string): boolean {
  if (typeof given !== "string" || given.length !== expected.length) return false;
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}
