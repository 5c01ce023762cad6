import { join } from "node:path";
import { chooseTool, type ModelAct } from "./choose-tool.ts";
import type { Turn } from "./dialects/dialect.ts";
import type { Answer } from "./model-server.ts";

/** The subject of a trial: a repository, and a word in its task. */
type Trial = {
  /** As the agent sees it. */
  repo: string;
  /** Only in the prompt, so that a model that has seen it has received the task. */
  secretWord: string;
};

/** The files of the repository. The agent may change `src`, and nothing else. */
export const trialFiles = {
  "README.md": "Read me.\n",
  "src/greeting.txt": "Helo, world\n",
  // Its output is in no file and not in the task, so a model that has seen it has received the output.
  "check.sh": 'grep -q "Hello, world" src/greeting.txt && echo "tests passed: $((6 * 7))"\n',
} as const;

export const editedFile = "src/greeting.txt";
export const editedText = "Hello, world\n";
/** A shell writes it, because an agent's own tools may hide that the kernel refused. */
export const forbiddenFile = "not-allowed.txt";
/** The kernel's refusal, in the words of known programs. */
const refusal = /EROFS|EACCES|EPERM|read-only file ?system|permission ?denied/i;
const testsPassed = "tests passed: 42";

export function trialPrompt({ secretWord }: Trial): string {
  return `Mend the spelling in ${editedFile}, and run \`sh check.sh\`. The word is ${secretWord}.`;
}

/** What the model has observed of an agent. */
export type Seen = {
  /** Turns in which the agent offered tools; without one it can do nothing. */
  turns: number;
  task: boolean;
  tests: boolean;
  /** It tried to write where it may not, and the kernel refused. */
  refusal: boolean;
};

/** A model that makes an agent do its task, and one act that it may not do. */
export function trialModel(trial: Trial): { answer: Answer; seen: Seen } {
  const seen: Seen = { turns: 0, task: false, tests: false, refusal: false };
  const answer: Answer = (turn) => {
    if (turn.text.includes(trial.secretWord)) seen.task = true;
    if (turn.text.includes(testsPassed)) seen.tests = true;
    // A request outside the conversation, for example for its title.
    if (turn.tools.length === 0) return { say: "A greeting" };
    seen.turns += 1;
    const at = stepOf(turn);
    const steps = stepsIn(workspaceOf(turn, trial));
    if (at === steps.length && refusal.test(turn.lastResult)) seen.refusal = true;
    const wanted = at < 0 ? { act: "read" as const, path: taskPath(turn, trial) } : steps[at];
    const call = wanted === undefined ? undefined : chooseTool(turn.tools, wanted);
    return call === undefined ? { say: "Done." } : { call };
  };
  const stepOf = ({ calls, text }: Turn): number => {
    const hasReadTask = calls[0]?.args.includes("TASK.md") === true;
    if (calls.length === 0 && !text.includes(trial.secretWord)) return -1;
    return calls.length - (hasReadTask ? 1 : 0);
  };
  return { answer, seen };
}

function stepsIn(workspace: string): ModelAct[] {
  const path = join(workspace, editedFile);
  return [
    { act: "read", path },
    { act: "edit", path, from: "Helo", to: "Hello" },
    { act: "run", command: "sh check.sh" },
    { act: "run", command: `echo no > '${join(workspace, forbiddenFile)}'` },
  ];
}

/** Without a cage the agent works outside the repository, in a folder that its task names. */
function workspaceOf({ text }: Turn, { repo }: Trial): string {
  return /^In `(\/[^`\n]+)`; everything else/m.exec(text)?.[1] ?? repo;
}

/** The path of the task file, as the agent received it. */
function taskPath({ text }: Turn, { repo }: Trial): string {
  return /(\/[^\s"'`@]*TASK\.md)/.exec(text)?.[1] ?? join(repo, ".writ-task/TASK.md");
}
