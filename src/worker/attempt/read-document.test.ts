import { expect, test } from "vitest";
import { RunFailure } from "../../runners/runner.ts";
import { readDocument } from "./read-document.ts";

const worker = { location: "LOCAL_MACHINE", capabilities: [{ provider: "OLLAMA", model: "small" }] };
const document = {
  job_id: "0190aaaa-0000-7000-8000-000000000000",
  tenant_id: "default",
  user_id: "alice",
  type: "delegate",
  execution_location: "LOCAL_MACHINE",
  provider: "OLLAMA",
  model: "small",
  run: { kind: "delegate", agent: "a", prompt: "p" },
  created_at_ts: 1,
  status: "QUEUED",
  timeout_sec: 300,
  idempotency_key: "k",
  repo_root: "/srv/repo",
  allowed_paths: ["src"],
  priority: 5,
  max_attempts: 3,
};

function refusalOf(changes: object): unknown {
  try {
    return readDocument({ document: { ...document, ...changes } as never, isPlain: true }, worker);
  } catch (error) {
    return error instanceof RunFailure ? [error.code, error.detail] : error;
  }
}

test("P-01: a signed document with a path that leaves its root is a violation and not just unreadable", () => {
  const violation = ["SECURITY_VIOLATION", "PATH_TRAVERSAL_ATTEMPT"];
  for (const path of ["../etc", "src/../../x", "/etc/passwd", "%2e%2e/", ".git/hooks", ""])
    expect([path, refusalOf({ allowed_paths: [path] })]).toEqual([path, violation]);
  expect(refusalOf({ repo_root: "/srv/../etc" })).toEqual(violation);
  expect(refusalOf({ unknown: true })).toEqual(["INVALID_JOB", "JOB_NOT_ACCEPTED"]);
  expect(refusalOf({})).toMatchObject({ repo_root: "/srv/repo" });
});
