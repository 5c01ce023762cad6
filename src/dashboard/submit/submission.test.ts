import { expect, test } from "vitest";
import { kindNames } from "../../contract/kinds.ts";
import { fieldLabels } from "./field-labels.ts";
import { emptyDraft, labelAt, readDraft, runFields } from "./submission.ts";

test("every kind has a control for each field of its shape", () => {
  for (const kind of kindNames) expect(runFields(kind).length, kind).toBeGreaterThan(0);
  expect(runFields("exec")).toEqual(
    expect.arrayContaining([
      { name: "argv", control: "words", isRequired: true },
      { name: "env", control: "pairs", isRequired: false },
      { name: "cwd", control: "text", isRequired: false },
      { name: "stdin", control: "base64", isRequired: false },
      { name: "secrets", control: "list", isRequired: false },
    ]),
  );
  expect(runFields("persistent_http")).toContainEqual({ name: "port", control: "number", isRequired: true });
  expect(runFields("handler")).toContainEqual({ name: "params", control: "json", isRequired: false });
});

test("a draft becomes the body of POST /jobs", () => {
  const draft = emptyDraft();
  draft.run = { argv: "sh -c 'echo hi'", env: "A=1\nB=x=y", stdin: "grüße" };
  draft.fields = {
    ...draft.fields,
    type: "exec",
    priority: "7",
    memory: "1G",
    tags: "gpu, ssd",
    timeout_sec: "60",
  };
  const { job, problems } = readDraft(draft);
  expect(problems).toEqual([]);
  expect(job).toMatchObject({
    type: "exec",
    priority: 7,
    timeout_sec: 60,
    run: { kind: "exec", argv: ["sh", "-c", "echo hi"], env: { A: "1", B: "x=y" }, stdin: "Z3LDvMOfZQ==" },
    limits: { memory: "1G" },
    requires: { tags: ["gpu", "ssd"] },
  });
});

test("every field except input files has a label", () => {
  for (const kind of kindNames)
    for (const { name } of runFields(kind)) {
      expect(["inputs", "stdin_from"]).not.toContain(name);
      expect(fieldLabels[name] ?? "", `${kind} ${name}`).toMatch(/^[A-Z]/);
    }
});

test("an unclosed quote and a line without = are refused and left out of the preview", () => {
  const draft = emptyDraft();
  draft.run = { argv: "sh -c 'echo hi", env: "A=1\nnothing" };
  draft.fields = { ...draft.fields, type: "exec" };
  const { job, body, problems } = readDraft(draft);
  expect(job).toBeNull();
  expect(problems).toContainEqual({ path: "run.argv", message: "has a quote that is not closed" });
  expect(body).toMatchObject({ run: { env: { A: "1" } } });
  expect((body as { run: { env: object } }).run.env).toEqual({ A: "1" });
});

test("an empty form lacks a type and a command", () => {
  const { job, problems } = readDraft(emptyDraft());
  expect(job).toBeNull();
  expect(problems).toEqual([
    { path: "type", message: "is required" },
    { path: "run.argv", message: "is required" },
  ]);
});

test("each problem is reported at its field, with the message of the shape", () => {
  const draft = emptyDraft();
  draft.run = { env: "no pair" };
  draft.fields = { ...draft.fields, type: "has space", memory: "lots", priority: "high" };
  const { job, problems } = readDraft(draft);
  expect(job).toBeNull();
  expect(problems).toContainEqual({ path: "run.argv", message: "is required" });
  const paths = problems.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(["type", "run.argv", "run.env", "limits.memory", "priority"]));
});

test("O-30 a date and time becomes run_at, and problems use the labels of the form", () => {
  const draft = emptyDraft();
  draft.run = { argv: "true" };
  draft.fields = { ...draft.fields, type: "later", run_at: "2026-01-31T08:00" };
  expect(readDraft(draft).job).toMatchObject({ run_at: Date.parse("2026-01-31T08:00") });
  draft.fields.run_at = "tomorrow";
  const { job, problems } = readDraft(draft);
  expect(job).toBeNull();
  expect(problems.map(({ path }) => labelAt(path))).toEqual(["Not before"]);
  expect([labelAt("run.argv"), labelAt("limits.memory"), labelAt("run.inputs.0.path")]).toEqual([
    "Command",
    "Memory",
    "Files",
  ]);
});

test("an invalid variable name is reported with what is allowed", () => {
  const draft = emptyDraft();
  draft.run = { argv: "true", env: "GOOD=1\nA-B=1" };
  draft.fields = { ...draft.fields, type: "exec" };
  expect(readDraft(draft).problems).toEqual([
    {
      path: "run.env",
      message: "A-B: must be a variable name: letters, digits and _, at most 200, and no digit first",
    },
  ]);
});
