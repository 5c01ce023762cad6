import { expect, test } from "vitest";
import { collect, inputs } from "./file-shapes.ts";
import { jobSubmission } from "./submit-shapes.ts";

const stored = { folder_id: "in", object_key: "a.txt", sha256: "0".repeat(64) };

function problems(...paths: string[]): string[] {
  const parsed = inputs.safeParse(paths.map((path) => ({ path, ...stored })));
  return parsed.success ? [] : parsed.error.issues.map(({ message }) => message);
}

test.each([
  ["../x", "must not contain .."],
  ["/x", "must be relative"],
  ["a//b", "must be written without . and // and without / at its end"],
  ["./a", "must be written without . and // and without / at its end"],
  ["a/", "must be written without . and // and without / at its end"],
  ["a\0b", "must not contain a NUL"],
  ["a\\b", "must not contain a backslash"],
  ["x".repeat(256), "has a name of over 255 characters"],
])("M-01: an input cannot be placed at %j", (path, message) => {
  expect(problems(path)).toContain(message);
});

test("an input is placed once, and not where another needs a directory", () => {
  expect(problems("a", "b/c", "b/d", "e f.txt", "ü")).toEqual([]);
  expect(problems("a", "a")).toEqual(["lists a twice"]);
  expect(problems("a/b", "a")).toEqual(["a is a file and cannot contain a/b"]);
});

test("a job has at most 256 inputs, each with the hash of its bytes", () => {
  expect(problems(...Array.from({ length: 257 }, (_, index) => `f${index}`))).toEqual([
    "must have at most 256 files",
  ]);
  const { sha256, ...unhashed } = stored;
  expect(inputs.safeParse([{ path: "a", ...unhashed }]).success).toBe(false);
  expect(inputs.safeParse([{ path: "a", ...unhashed, sha256: sha256.slice(1) }]).success).toBe(false);
  expect(inputs.safeParse([]).success).toBe(false);
});

test("a SHA-256 may be written in upper case and with its name, and is kept as 64 lower-case digits", () => {
  const sha256 = `sha256:${"AB".repeat(32)}`;
  expect(inputs.parse([{ path: "a", ...stored, sha256 }])[0]!.sha256).toBe("ab".repeat(32));
  const run = { kind: "solver", url: "https://example.org/x", checksum: "CD".repeat(32) };
  const job = jobSubmission.parse({ type: "solve", run });
  expect(job.run).toMatchObject({ checksum: "cd".repeat(32) });
});

test("M-01: a pattern cannot lead out of the output directory", () => {
  expect(collect.safeParse(["**", "a/*.txt", ".hidden"]).success).toBe(true);
  for (const pattern of ["../*", "a/../../b", "/etc/*", "", "a\0b"])
    expect(collect.safeParse([pattern]).success).toBe(false);
});

test("standard input comes in the document or from storage, not both", () => {
  const run = { kind: "exec", argv: ["cat"], stdin: "aGk=", stdin_from: stored };
  const refused = jobSubmission.safeParse({ type: "exec", run });
  expect(refused.error?.issues[0]?.message).toBe("give run.stdin or run.stdin_from, not both");
});

test("a job in a container fetches and lists its files itself", () => {
  const run = { kind: "exec_per_job", worker_command: ["x"], container: "c", collect: ["**"] };
  const refused = jobSubmission.safeParse({ type: "t", run });
  expect(refused.error?.issues[0]).toMatchObject({ path: ["run.collect"] });
});

test("a job for a coding agent collects nothing: what the agent changes is kept", () => {
  const run = { kind: "delegate", agent: "a", prompt: "p", collect: ["src/**"] };
  const model = { provider: "OLLAMA", model: "m", repo_root: "/srv/repo", allowed_paths: ["src"] };
  const refused = jobSubmission.safeParse({ type: "t", run, ...model });
  expect(refused.error?.issues).toMatchObject([
    { path: ["run.collect"], message: expect.stringContaining("every file that the agent changes is kept") },
  ]);
  const { collect: _, ...accepted } = run;
  expect(jobSubmission.safeParse({ type: "t", run: accepted, ...model }).success).toBe(true);
});
