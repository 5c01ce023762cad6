import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { fieldFormats } from "../core/jobs/document-format.ts";
import { jobDocument } from "./document.ts";
import { kinds, type RunKind } from "./kinds.ts";
import { limits, requires } from "./shapes/run-shapes.ts";

/** The fields that version 0.1 reads. This list never grows: a new field is a line in `fieldFormats`. */
const firstFields = [
  ...["job_id", "tenant_id", "user_id", "type", "execution_location", "provider", "model", "run", "limits"],
  ...["requires", "created_at_ts", "status", "timeout_sec", "idempotency_key", "repo_root", "allowed_paths"],
  ...["priority", "max_attempts", "queue_ttl_sec", "steps", "metadata", "params", "output_location"],
  ...["storage_access_policy"],
  ...["limits.cpu", "limits.memory", "limits.io", "limits.pids", "limits.network"],
  ...["requires.tags", "requires.session", "requires.cores", "requires.ram_gb"],
];

/** The same for each kind. A newer kind is not here: a worker that names it reads the fields that it began with. */
const firstRunFields: Partial<Record<RunKind, string[]>> = {
  exec: ["kind", "argv", "env", "cwd", "secrets"],
  solver: ["kind", "url", "checksum", "params", "secrets"],
  exec_per_job: ["kind", "worker_command", "job_input", "secrets"],
  persistent_http: ["kind", "worker_command", "port", "job_input", "secrets"],
  delegate: ["kind", "agent", "prompt", "expected_artifacts", "idle_timeout_sec", "secrets"],
  handler: ["kind", "params"],
};

const runFields = Object.values(kinds).flatMap(({ shape }) => fieldsOf(shape, "run."));
const fields = [
  ...fieldsOf(jobDocument),
  ...fieldsOf(limits, "limits."),
  ...fieldsOf(requires, "requires."),
  ...runFields,
];

function fieldsOf(shape: z.ZodObject, prefix = ""): string[] {
  return Object.keys(shape.shape).map((field) => `${prefix}${field}`);
}

describe("a field of the document", () => {
  it("that version 0.1 does not read has a format", () => {
    const isKnown = (field: string): boolean => firstFields.includes(field) || field in fieldFormats;
    expect(fields.filter((field) => !field.startsWith("run.") && !isKnown(field))).toEqual([]);
    for (const [kind, first] of Object.entries(firstRunFields)) {
      const newer = fieldsOf(kinds[kind as RunKind].shape).filter((field) => !first.includes(field));
      expect(newer.filter((field) => !(`run.${field}` in fieldFormats))).toEqual([]);
    }
  });

  it("that has a format exists, and version 0.1 does not read it", () => {
    const old = [
      ...firstFields,
      ...Object.values(firstRunFields).flatMap((names) => names.map((n) => `run.${n}`)),
    ];
    for (const field of Object.keys(fieldFormats)) {
      expect(fields).toContain(field);
      expect(old).not.toContain(field);
      expect(fieldFormats[field]).toBeGreaterThan(1);
    }
  });
});
