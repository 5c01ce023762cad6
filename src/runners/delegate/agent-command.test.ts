import { expect, test } from "vitest";
import type { JobDocument } from "../../contract/document.ts";
import { agentCommand } from "./agent-command.ts";
import { taskText } from "./task-file.ts";

const capability = { provider: "OLLAMA", model: "small", timeoutMs: 1 } as const;
const files = { taskFile: "/work/TASK.md", completionMarker: "/work/TASK.done" };

function commandFor(words: string[], text: string): string[] {
  return agentCommand(words, capability, { ...files, text });
}

test("O-15 the task is put in once: what it contains is not replaced again", () => {
  expect(commandFor(["a", "{task}", "{model} {unknown}"], "Say {model}.")).toEqual([
    "a",
    "Say {model}.",
    "small {unknown}",
  ]);
});

test("O-15 an argument of exactly as many bytes as Linux takes is accepted, and one more is not", () => {
  const most = "x".repeat(128 * 1024 - 1);
  expect(commandFor(["{task}"], most)).toEqual([most]);
  expect(() => commandFor(["{task}"], `${most}x`)).toThrow("an argument of 131072 bytes");
  expect(() => commandFor(["{task}"], "ä".repeat(65_536))).toThrow("an argument of 131072 bytes");
  expect(commandFor(["{task_file}"], `${most}x`)).toEqual(["/work/TASK.md"]);
});

test("O-15 a NUL in a step, which no argument can have, is a sign that people see", () => {
  const text = taskText({
    document: { job_id: "j", steps: ["first\0this"] } as unknown as JobDocument,
    prompt: "p",
    repository: "/r",
    completionMarker: "/work/TASK.done",
    expectedArtifacts: [],
    timeoutSec: 1,
  });
  expect(text).toContain("1. first\uFFFDthis");
});
