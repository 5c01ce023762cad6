import { readSecrets } from "../read-secrets.ts";
import {
  type ContainerSettings,
  notBegun,
  outputLimitReason,
  type RunContext,
  RunFailure,
  type RunnerDeps,
  type RunOutcome,
  stoppedOutcome,
  stopReasonOf,
} from "../runner.ts";
import { containerIsolation, readReport, reportOutcome } from "./agent-outcome.ts";
import { type AgentExit, AgentProcess } from "./agent-process.ts";
import { silentEndFailure } from "./container-failure.ts";
import { ContainerOutput } from "./container-output.ts";
import { containerPayload } from "./container-payload.ts";
import { type ContainerEntry, endAgent, stopInContainer } from "./stop-in-container.ts";

/** A fresh token is sent to the agent soon after it was made, and long before the one that it has expires. */
const tokenCheckMs = 5_000;

/**
 * Runs a job in a running container: starts the agent there, passes it the job on standard input, and reads its output
 * and its report. Nothing secret is in a command line or an environment of this machine. Why: ADR 0045.
 */
export async function runInContainer(
  deps: RunnerDeps,
  context: RunContext,
  container: string,
): Promise<RunOutcome> {
  const { settings } = deps;
  const { document, signal } = context;
  const entry = entryOf(settings.containers, container);
  refuseLimits(context);
  const asked = "secrets" in document.run ? (document.run.secrets ?? []) : [];
  const secrets = await readSecrets(settings.secrets, asked, document.tenant_id);
  const masks = context.secrets.add(secrets);
  const token = await context.jobToken?.get();
  const payload = containerPayload(deps, context, { secrets, token });
  if (signal.aborted) return stoppedOutcome(stopReasonOf(signal), context);
  await context.onStarted(containerIsolation);
  if (signal.aborted) return notBegun(stoppedOutcome(stopReasonOf(signal), context));

  const over = new AbortController();
  const output = new ContainerOutput({
    attemptDir: context.attemptDir,
    bytesMax: settings.outputBytesMax,
    masks,
    onTrouble: () => over.abort(),
  });
  let exit: AgentExit;
  try {
    const agent = new AgentProcess({
      argv: [...entry.exec, "writ-agent", "run-job", "--relay"],
      env: entry.env,
      onPiece: (stream, piece) => output.write(stream, piece),
    });
    exit = await attend(deps, context, { agent, payload, token, entry, limit: over.signal });
  } finally {
    output.close();
  }
  const outcome = await judge(deps, context, { exit, container, entry, unwritable: output.unwritable });
  return output.isLimited ? limited(outcome) : outcome;
}

type Attended = {
  agent: AgentProcess;
  payload: string;
  /** The job token in the payload. */
  token: string | undefined;
  entry: ContainerEntry;
  limit: AbortSignal;
};

/** Waits for the agent's end, and ends the job when it is stopped. */
async function attend(
  deps: RunnerDeps,
  context: RunContext,
  { agent, payload, token, entry, limit }: Attended,
): Promise<AgentExit> {
  const { signal, hurry, jobToken, lease } = context;
  const over = new AbortController();
  const stop = (): void =>
    void endAgent(deps, { agent, entry, jobId: lease.job_id, hurry, over: over.signal });
  const dueEnd = AbortSignal.any([signal, limit]);
  context.onProcess(agent.pid);
  agent.sendText(payload);
  if (dueEnd.aborted) stop();
  else dueEnd.addEventListener("abort", stop, { once: true });
  if (jobToken !== undefined) void renewToken(deps, { agent, jobToken, token, over: over.signal });
  try {
    return await agent.exited;
  } finally {
    dueEnd.removeEventListener("abort", stop);
    over.abort();
    context.onProcess(0);
  }
}

type Renewal = Pick<Attended, "agent" | "token"> & {
  jobToken: NonNullable<RunContext["jobToken"]>;
  over: AbortSignal;
};

/**
 * Sends newer tokens, the first at once: between payload and start the hub may have been away so long that the token is
 * old.
 */
async function renewToken(
  { clock, logger }: RunnerDeps,
  { agent, token: first, jobToken, over }: Renewal,
): Promise<void> {
  let last = first;
  while (!over.aborted) {
    try {
      const token = await jobToken.get();
      if (token !== last) agent.send({ job_token: token });
      last = token;
    } catch (error) {
      if (over.aborted) return;
      logger.warn({ err: error }, "no job token could be had for a job in a container");
    }
    // The end of the agent ends this wait.
    await clock.sleep(tokenCheckMs, over).catch(() => {});
  }
}

type Judged = {
  exit: AgentExit;
  container: string;
  entry: ContainerEntry;
  unwritable: string | undefined;
};

async function judge(
  deps: RunnerDeps,
  context: RunContext,
  { exit, container, entry, unwritable }: Judged,
): Promise<RunOutcome> {
  const { signal, hurry, lease } = context;
  const read = readReport(exit.line, lease.job_id);
  // The agent was killed; what it had started may still run.
  if (read === null && exit.hasBegun) await stopInContainer(deps, { entry, jobId: lease.job_id, hurry });
  if (unwritable !== undefined) return { kind: "released", reason: unwritable };
  if (signal.aborted) {
    const outcome = stoppedOutcome(stopReasonOf(signal), context);
    const files = read?.report.output_files;
    return outcome.kind === "failed" && files !== undefined ? { ...outcome, outputFiles: files } : outcome;
  }
  if (read !== null) return reportOutcome(read, container);
  throw silentEndFailure({ container, command: entry.exec[0] ?? "", ...exit });
}

function entryOf(containers: ContainerSettings | undefined, name: string): ContainerEntry {
  const { byName = {}, env = {} } = containers ?? {};
  const entry = Object.hasOwn(byName, name) ? byName[name] : undefined;
  if (entry === undefined) throw refused(`this worker has no container ${name}`);
  return { exec: entry.exec, env };
}

/** Refuses limits: the container has its own, which cannot be changed for one job. */
function refuseLimits({ document, lease }: RunContext): void {
  const asked = Object.keys(document.limits ?? {}).filter((name) => !lease.limits_defaulted?.includes(name));
  if (asked.length > 0)
    throw refused(`a job in a container cannot have limits of its own: ${asked.join(", ")}`);
}

/** Its files are kept nevertheless. */
function limited(outcome: RunOutcome): RunOutcome {
  if (outcome.kind === "released") return outcome;
  const { exitCode, isolation, outputFiles } = outcome;
  const facts = { exitCode, isolation, outputFiles };
  const known = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
  return {
    kind: "failed",
    code: "EXECUTION_ERROR",
    detail: "OUTPUT_LIMIT",
    reason: outputLimitReason,
    ...known,
  };
}

function refused(reason: string): RunFailure {
  return new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}
