import type { AgentUse } from "../../../core/agents/agent-use.ts";
import type { RunningProcess, Usage } from "../../../sandbox/sandbox.ts";
import type { ResultForm } from "../../read-result.ts";
import type { RunContext, RunnerDeps } from "../../runner.ts";
import type { AgentEntry } from "../delegate-settings.ts";
import { AgentLog } from "./agent-log.ts";
import { followStream } from "./follow-stream.ts";

type Followed = {
  entry: AgentEntry;
  /** What the agent sees as its repository. */
  root: string;
  plan: { stdoutFile: string };
  running: RunningProcess;
  /** Called with what it has used so far. */
  onUse?(use: AgentUse): void;
};

/** A running agent, with what it tells in its usage. */
export type AgentTale = {
  /** Its end resolves when all that it told was read. */
  running: RunningProcess;
  /** Where its result may be: what such an agent prints is for this reader. */
  form: ResultForm;
  /** What it wrote last; empty without a protocol. */
  answer(): string;
};

/**
 * Follows what an agent tells of itself, if its entry names a protocol. Trouble with it never fails the job: the output is kept
 * like any other. An older hub is told nothing of it. Why: ADR 0132.
 */
export function followAgent(
  { logger }: Pick<RunnerDeps, "logger">,
  context: RunContext,
  { entry, root, plan, running, onUse }: Followed,
): AgentTale {
  const { reportCall, secrets, lease } = context;
  const { protocol = "text" } = entry;
  if (protocol === "text") return { running, form: "line", answer: () => "" };
  const mask = (text: string): string => secrets.maskMessage(text);
  const log = new AgentLog({
    root,
    mask,
    onCall: (call) => reportCall?.(call),
    onUse: (use) => onUse?.(use),
  });
  const ended = new AbortController();
  const reading = followStream(protocol, log, { path: plan.stdoutFile, ended: ended.signal }).catch(
    (error: unknown) => {
      const facts = { err: error, job_id: lease.job_id, attempt: lease.attempt };
      logger.warn(facts, "what a coding agent tells could not be read");
    },
  );
  const withUse = (usage: Usage): Usage => (reportCall === undefined ? usage : { ...usage, agent: log.use });
  const exited = running.exited.then(async (exit) => {
    ended.abort();
    await reading;
    return { ...exit, usage: withUse(exit.usage) };
  });
  const told: RunningProcess = {
    get pid() {
      return running.pid;
    },
    exited,
    get isolation() {
      return running.isolation;
    },
    usage: () => withUse(running.usage()),
    pids: () => running.pids(),
    signalGroup: (signal) => running.signalGroup(signal),
    killTree: () => running.killTree(),
  };
  return { running: told, form: "file", answer: () => mask(log.answer) };
}
