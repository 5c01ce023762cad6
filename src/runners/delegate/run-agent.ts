import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { judgeProcess, type StartedProcess, startProcess, waitForProcess } from "../run-process.ts";
import type { RunContext, RunnerDeps, RunOutcome, StopReason } from "../runner.ts";
import {
  agentCommand,
  agentEnvironment,
  agentFiles,
  markerName,
  taskName,
  workerVariables,
} from "./agent-command.ts";
import { homeMount } from "./agent-home.ts";
import type { AgentLimits } from "./agent-limits.ts";
import { applyEarlier } from "./apply-earlier.ts";
import type { ChosenAgent } from "./choose-agent.ts";
import type { DelegateSettings } from "./delegate-settings.ts";
import { type AgentTale, followAgent } from "./protocols/follow-agent.ts";
import type { Workspace } from "./repository/workspace.ts";
import { writeTaskInto } from "./show-task.ts";
import { taskText } from "./task-file.ts";
import { type AgentEnd, watchAgent } from "./watch-agent.ts";

export type Delegation = {
  settings: DelegateSettings;
  chosen: ChosenAgent;
  prompt: string;
  expectedArtifacts: readonly string[];
  /** 0: none. */
  idleTimeoutSec: number;
  secrets: readonly string[];
  /** The input with the diff with which the agent begins. */
  apply: string | undefined;
  /** Null: it may use as much as it likes. */
  limits: AgentLimits | null;
};

/** The outcome of the agent's own process; one that was not started has changed nothing. */
type AgentRun = { outcome: RunOutcome; isStarted: boolean };

/** Starts the agent in its workspace and waits until it reports that it is done, ends, or is idle for too long. */
export async function runAgent(
  deps: RunnerDeps,
  context: RunContext,
  { delegation, workspace }: { delegation: Delegation; workspace: Workspace },
): Promise<AgentRun> {
  const { chosen, settings, idleTimeoutSec, limits } = delegation;
  const files = agentFiles(deps.sandbox.workDirInside(context.workDir), workspace.task);
  const text = taskOf(context, { delegation, workspace, completionMarker: files.completionMarker });
  const argv = agentCommand(chosen.entry.command ?? [], chosen.capability, { ...files, text });
  const taskFile = await writeTask(context, workspace, text);
  const started = await startProcess(deps, context, {
    argv,
    stdinFile: chosen.entry.stdin === "task" ? taskFile : undefined,
    cwd: workspace.cwd,
    env: agentEnvironment(chosen, files),
    secretEnv: workerVariables(settings, chosen),
    secrets: delegation.secrets,
    mounts: [...workspace.mounts, ...(await homeMount(deps, context, chosen.entry))],
    egress: chosen.entry.egress,
    input: { prompt: delegation.prompt },
    prepare: () =>
      applyEarlier(deps, context, { workspace, path: delegation.apply, egress: chosen.entry.egress }),
  });
  if ("kind" in started) return { outcome: started, isStarted: false };

  const { plan, running } = started;
  const watching = watchAgent(deps.clock, {
    marker: join(context.workDir, markerName),
    graceMs: deps.settings.stopGraceMs,
    idleMs: idleTimeoutSec * 1000,
    outputs: [plan.stdoutFile, plan.stderrFile],
    dirs: [
      { dir: workspace.dir, look: workspace.look },
      { dir: context.workDir, look: { roots: [""], hidden: [] } },
    ],
  });
  const followed = { entry: chosen.entry, root: workspace.cwd, plan, running };
  const tale = followAgent(deps, context, { ...followed, onUse: (use) => limits?.note(use) });
  limits?.watch();
  try {
    const signals = [context.signal, watching.signal, ...(limits === null ? [] : [limits.signal])];
    const signal = AbortSignal.any(signals);
    const end = await waitForProcess<StopReason | AgentStop>(deps, { ...context, signal }, tale.running);
    return {
      outcome: await judge(context, { ...started, tale }, { ...end, idleTimeoutSec, limits }),
      isStarted: true,
    };
  } finally {
    limits?.close();
    watching.close();
  }
}

type AgentStop = AgentEnd | "budget";
type AgentExit = Awaited<ReturnType<typeof waitForProcess<StopReason | AgentStop>>> & {
  idleTimeoutSec: number;
  limits: AgentLimits | null;
};

async function judge(
  context: RunContext,
  started: StartedProcess & { tale: AgentTale },
  { exit, stoppedBy, idleTimeoutSec, limits }: AgentExit,
): Promise<RunOutcome> {
  const facts = { usage: exit.usage, isolation: started.running.isolation };
  if (stoppedBy === "budget") return withAnswer({ ...limits!.outcome(), ...facts }, started.tale);
  if (stoppedBy === "idle") {
    const reason = `the agent printed nothing and changed no file for ${idleTimeoutSec} s`;
    return { kind: "failed", code: "TIMEOUT", detail: "IDLE_TIMEOUT", reason, ...facts };
  }
  const { form } = started.tale;
  if (stoppedBy !== "finished")
    return withAnswer(await judgeProcess(context, started, { exit, stoppedBy, form }), started.tale);
  // It was ended after its own report that it is done, so the kind of its end does not matter.
  const done = { ...exit, exitCode: 0, signal: null };
  return withAnswer(
    await judgeProcess(context, started, { exit: done, stoppedBy: undefined, form }),
    started.tale,
  );
}

/** What it wrote last is the answer of an agent that tells what it does, unless it has left another. */
function withAnswer(outcome: RunOutcome, { answer }: AgentTale): RunOutcome {
  const text = answer();
  if (text === "") return outcome;
  const json = JSON.stringify(text);
  if (outcome.kind === "succeeded" && outcome.resultJson === "null") return { ...outcome, resultJson: json };
  if (outcome.kind === "failed" && outcome.partialResultJson === undefined)
    return { ...outcome, partialResultJson: json };
  return outcome;
}

function taskOf(
  context: RunContext,
  task: { delegation: Delegation; workspace: Workspace; completionMarker: string },
): string {
  const { prompt, expectedArtifacts } = task.delegation;
  return taskText({
    document: context.document,
    prompt,
    repository: task.workspace.cwd,
    completionMarker: task.completionMarker,
    expectedArtifacts,
    timeoutSec: context.lease.timeout_sec,
  });
}

/** Where the agent can find it, and in a file that no agent can change, for its standard input. */
async function writeTask(
  { attemptDir, workDir }: RunContext,
  { task }: Workspace,
  text: string,
): Promise<string> {
  const kept = join(attemptDir, taskName);
  for (const file of [join(workDir, taskName), kept])
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
  if (task !== undefined) await writeTaskInto(task, text);
  return kept;
}
