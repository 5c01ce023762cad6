import { realpath, stat } from "node:fs/promises";
import { isAbsolute, posix, relative, resolve } from "node:path";
import { type Command, Option } from "commander";
import type { JobInput, Writ } from "../../../client/index.ts";
import type { AgentBudget } from "../../../core/agents/agent-budget.ts";
import { WritError } from "../../../core/errors.ts";
import { delegateModeDefault, delegateModes, providers } from "../../../core/jobs/document.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { collect, parsed, wholeNumber } from "../../program.ts";
import { parseDuration } from "../../terminal/duration.ts";
import { rawHelp } from "../run/copy-output.ts";
import { budgetOf } from "./budget-option.ts";
import { chooseModel, type ModelFlags } from "./choose-model.ts";
import { agentsIn, delegateSeveral } from "./delegate-several.ts";
import { readPrompt } from "./read-prompt.ts";
import { chatAgent, submitToAgent } from "./submit-to-agent.ts";

type DelegateFlags = ModelFlags & {
  repo: string;
  allow?: string[];
  readOnly?: boolean;
  agent: string;
  n: number;
  mode?: (typeof delegateModes)[number];
  expect?: string[];
  step?: string[];
  idleTimeout?: number;
  budget?: AgentBudget;
  timeout?: number;
  session?: string;
  tag?: string[];
  secret?: string[];
  attempts?: number;
  wait?: boolean;
  detach?: boolean;
  raw?: boolean;
};

const durationHelp = "a time such as 30s, 10m or 1h";

export function define(command: Command, context: CliContext): void {
  command
    .argument("<prompt>", "what the agent is to do; @FILE reads it from a file, and - from standard input")
    .option("--repo <dir>", "the repository, as the worker's machine sees it", ".")
    .option(
      "--allow <path>",
      "what the agent may change, relative to the repository; may be repeated",
      collect,
    )
    .option("--read-only", "the agent may change nothing; instead of --allow")
    .option(
      "--agent <name>",
      "an agent of the worker's agents.yaml, or chat; default means the first; several with commas get the task each",
      "default",
    )
    .addOption(
      new Option("--n <count>", "how often each agent gets the task, for `jobctl compare`")
        .default(1)
        .argParser(wholeNumber(1, 32)),
    )
    .addOption(
      new Option("--provider <name>", "whose model (default: of the only model that workers offer)").choices(
        providers,
      ),
    )
    .option("--model <name>", "the model (default: the only one that workers offer)")
    .addOption(
      new Option(
        "--mode <mode>",
        `patch: on a copy, for \`jobctl apply\`; in-place: in the repository itself (default: ${delegateModeDefault}, or in-place for an agent outside the cage)`,
      ).choices(delegateModes),
    )
    .option("--step <text>", "a step of the task; may be repeated", collect)
    .option(
      "--expect <file>",
      "a file that must be there in the end, or the job fails; may be repeated",
      collect,
    )
    .option(
      "--idle-timeout <time>",
      "end an agent that prints nothing and changes nothing for this long; 0 for no limit (default: 2m)",
      parsed(wholeSeconds, durationHelp),
    );
  addJobOptions(command)
    .option(
      "--budget <limits>",
      "end an agent that reports more, in all attempts together: some of usd=5,tokens=200000,tool_calls=100",
      budgetOf,
    )
    .addHelpText(
      "after",
      "\nIt shows what the agent prints, as `run` does, and ends with its exit code; Ctrl-C stops the job. Then `jobctl diff ID`\nshows what it changed, and `jobctl apply ID` puts that into the repository.",
    )
    .action((prompt: string, flags: DelegateFlags) =>
      withWrit(context, command, (writ) => delegate(writ, { context, command, prompt, flags })),
    );
}

/** What any job may have. */
function addJobOptions(command: Command): Command {
  return command
    .option(
      "--timeout <time>",
      "end an attempt after this time (default: 5m)",
      parsed(wholeSeconds, durationHelp),
    )
    .option("--session <name>", "run only on a worker with this session of an agent")
    .option("--tag <tag>", "run only on workers with this tag; may be repeated", collect)
    .option("--secret <name>", "a secret that the worker has, for the agent; may be repeated", collect)
    .option(
      "--attempts <n>",
      "number of attempts before the job counts as failed (default: 3)",
      wholeNumber(1, 100),
    )
    .option(
      "--wait",
      "wait until the job has ended without showing its output, and print its result; the id goes to stderr",
    )
    .option("--detach", "print the id and leave the job running; `jobctl attach ID` follows it later")
    .option("--raw", rawHelp);
}

function wholeSeconds(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms === undefined ? undefined : Math.ceil(ms / 1000);
}

type DelegateInput = { context: CliContext; command: Command; prompt: string; flags: DelegateFlags };

async function delegate(writ: Writ, { context, command, prompt, flags }: DelegateInput): Promise<void> {
  const agents = agentsIn(flags.agent, flags.n);
  const job = await describeJob(writ, { context, prompt, flags });
  if (agents.length > 1) {
    if (flags.mode === "in-place")
      throw new WritError(
        "INVALID_ARGUMENT",
        "--mode: several agents cannot work in the repository itself; use patch",
      );
    return delegateSeveral(writ, { context, command, job, agents, isDetached: flags.detach === true });
  }
  await submitToAgent(writ, { context, command, job, flags });
}

async function describeJob(
  writ: Writ,
  { context, prompt, flags }: Omit<DelegateInput, "command">,
): Promise<JobInput> {
  const repoRoot = await findRepo(context, flags.repo);
  const allowedPaths = allowedBy(repoRoot, flags);
  const text = await readPrompt(context, prompt);
  const { session, tag: tags } = flags;
  return {
    type: "delegate",
    ...(await chooseModel(writ, flags)),
    repo_root: repoRoot,
    allowed_paths: allowedPaths,
    run: {
      kind: "delegate",
      agent: flags.agent,
      prompt: text,
      expected_artifacts: flags.expect,
      idle_timeout_sec: flags.idleTimeout,
      budget: flags.budget,
      mode: flags.mode,
      secrets: flags.secret,
    },
    steps: flags.step,
    timeout_sec: flags.timeout,
    max_attempts: flags.attempts,
    requires: session === undefined && tags === undefined ? undefined : { session, tags },
  };
}

/** The worker may be on another machine, so an absolute path that is not here may still be one there. */
async function findRepo({ cwd }: CliContext, given: string): Promise<string> {
  const path = resolve(cwd, given);
  // What cannot be looked at here may be a path of another machine.
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return realpath(path);
  if (found === undefined && isAbsolute(given)) return path;
  const what = found === undefined ? "there is no such directory" : "is not a directory";
  throw new WritError("INVALID_ARGUMENT", `--repo: ${path}: ${what}`);
}

function allowedBy(repoRoot: string, { allow, readOnly, agent }: DelegateFlags): string[] {
  if (allow !== undefined && readOnly)
    throw new WritError(
      "INVALID_ARGUMENT",
      "--read-only: the agent may change what --allow names; give one of the two",
    );
  if (allow === undefined && !readOnly && agent !== chatAgent) {
    const message = "--allow: name what the agent may change, such as --allow src/, or give --read-only";
    throw new WritError("INVALID_ARGUMENT", message);
  }
  return (allow ?? []).map(
    (path) => (isAbsolute(path) ? relative(repoRoot, path) : posix.normalize(path)) || ".",
  );
}
