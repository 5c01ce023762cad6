import type { Schema } from "./schema-of.ts";

const jobId = "019a8c1e-5d2b-7c3a-9f10-2b6f4c8e1a55";
const moment = 1_763_294_400_000;
const sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/** Examples written by hand. Every other example is made from its schema. */
const written: Readonly<Record<string, unknown>> = {
  submitJob: { type: "exec", run: { kind: "exec", argv: ["echo", "hello"] }, timeout_sec: 60 },
  submitJobs: { jobs: [{ type: "image.resize", params: { file: "a.png" } }, { type: "image.resize" }] },
  claimJob: { worker_id: "builder-1", types: ["exec"], wait_ms: 30_000 },
  createToken: { role: "user", tenant_id: "acme", user_id: "alice", expires_in_sec: 86_400 },
  putQuota: { max_pending: 1000, max_running: 20 },
  failJob: {
    worker_id: "builder-1",
    attempt: 1,
    token: "bGVhc2UtdG9rZW4tb2Ytb25lLWF0dGVtcHQ",
    reason: "exit code 2",
    code: "EXECUTION_ERROR",
    exit_code: 2,
  },
};

/** Example values by the name of the field. */
const byName: Readonly<Record<string, unknown>> = {
  id: jobId,
  job_id: jobId,
  type: "image.resize",
  tenant_id: "acme",
  user_id: "alice",
  worker_id: "builder-1",
  owner_id: "alice",
  name: "builder-1",
  version: "0.1.0",
  tags: ["gpu"],
  types: ["image.resize"],
  key_id: "3f1c9a7be0d24c58",
  ip_address: "192.0.2.7",
  user_agent: "writ",
  token: "bGVhc2UtdG9rZW4tb2Ytb25lLWF0dGVtcHQ",
  object_key: "results/report.pdf",
  folder_id: "reports",
  request_id: "01JCW2V6Q0",
  reason: "a sentence for people",
  summary: "Worker builder-1 is busy; it starts when a slot is free.",
};

const depthMax = 8;

/** The example of a request body of this route. */
export function bodyExample(routeName: string, schema: Schema): unknown {
  return written[routeName] ?? exampleOf(schema);
}

/** A value that the schema describes. */
export function exampleOf(schema: Schema, name = "", depth = 0): unknown {
  const given = schema.const ?? schema.examples?.[0] ?? schema.default ?? schema.enum?.[0];
  if (given !== undefined) return given;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    return exampleOf(choices.find(({ type }) => type !== "null") ?? choices[0]!, name, depth);
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object") return objectExample(schema, depth);
  if (type === "array") return arrayExample(schema, name, depth);
  if (type === "string") return textExample(schema, name);
  if (type === "integer" || type === "number") return numberExample(schema, name);
  return type === "boolean" ? false : null;
}

function objectExample({ properties = {}, required = [] }: Schema, depth: number): unknown {
  if (depth >= depthMax) return {};
  const shown = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(shown.map(([name, schema]) => [name, exampleOf(schema, name, depth + 1)]));
}

function arrayExample({ items }: Schema, name: string, depth: number): unknown {
  if (Array.isArray(byName[name])) return byName[name];
  return typeof items === "object" && depth < depthMax ? [exampleOf(items, "", depth + 1)] : [];
}

function textExample(schema: Schema, name: string): string {
  const known = byName[name];
  if (schema.format === "uuid") return jobId;
  const candidates = [known, "text", sha256, sha256.slice(0, 16), jobId, "builder-1"];
  const fits = candidates.find((text) => typeof text === "string" && isAllowed(schema, text));
  return (fits as string | undefined) ?? "text";
}

function isAllowed({ pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema, text: string) {
  const hasLength = text.length >= minLength && text.length <= maxLength;
  return hasLength && (pattern === undefined || new RegExp(pattern, "u").test(text));
}

function numberExample({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Schema, name: string): number {
  const isMoment = /(?:_at|^ts|^since|heartbeat)$/.test(name);
  return Math.min(maximum, Math.max(minimum, isMoment ? moment : 1));
}
