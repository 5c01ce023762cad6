import type { JobDocument } from "../../contract/document.ts";

type Task = {
  document: JobDocument;
  prompt: string;
  /** As the agent sees them. */
  repository: string;
  completionMarker: string;
  expectedArtifacts: readonly string[];
  timeoutSec: number;
};

/** The first words of every task file, by which Writ knows its own. */
export const taskTitle = "# Writ job ";

/** The task of an agent, in Markdown. It may become an argument of a process, so it has no NUL. */
export function taskText(task: Task): string {
  const { document, prompt, expectedArtifacts, timeoutSec } = task;
  const { steps = [], repo_root, allowed_paths = [] } = document;
  const paths = allowed_paths.map((path) => `- ${code(path)}`);
  const nothing = "Nothing: only read, and answer on standard output.";
  const mayChange = repo_root === undefined ? [`- everything in ${code(task.repository)}`] : paths;
  return [
    `${taskTitle}${document.job_id}`,
    prompt.trimEnd(),
    ...section(
      "Steps",
      steps.map((step, index) => `${index + 1}. ${stepText(step)}`),
    ),
    "## What you may change",
    `In ${code(task.repository)}; everything else is read-only:`,
    mayChange.join("\n") || nothing,
    ...section(
      "Files that are expected",
      expectedArtifacts.map((path) => `- ${code(path)}`),
    ),
    "## When you are done",
    `Create the file ${code(task.completionMarker)}, or exit.`,
    timeoutSec === 0 ? "There is no time limit." : `You have ${timeoutSec} seconds.`,
    "",
  ]
    .join("\n\n")
    .replaceAll("\0", "\uFFFD");
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, lines.join("\n")];
}

/** A step may be text, or an object with more about it. */
function stepText(step: unknown): string {
  const text = typeof step === "string" ? step : JSON.stringify(step);
  return text.replaceAll("\n", "\n   ");
}

/** A path may contain anything, also a back quote or a line break. */
function code(path: string): string {
  const text = /[\x00-\x1f\x7f`]/.test(path) ? JSON.stringify(path).replaceAll("`", "'") : path;
  return `\`${text}\``;
}
