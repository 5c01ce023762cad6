import { mkdir, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Egress } from "../core/egress.ts";
import { scheduledFor } from "../core/schedules/scheduled-for.ts";
import type { JsonValue } from "../core/text/json-value.ts";
import { noInputFile } from "../sandbox/cage-mounts.ts";
import {
  type AskedLimits,
  type JobMount,
  type LaunchPlan,
  type ProcessExit,
  type RunningProcess,
  SandboxUnavailable,
} from "../sandbox/sandbox.ts";
import { canonicalize } from "../signing/canonical.ts";
import { effectiveLimits, narrower } from "./effective-limits.ts";
import { closeNetwork } from "./egress/close-network.ts";
import { exitOutcome } from "./exit-outcome.ts";
import { processEnvironment } from "./process-environment.ts";
import { type ResultForm, readResult } from "./read-result.ts";
import { readSecrets } from "./read-secrets.ts";
import {
  notBegun,
  type RunContext,
  type RunnerDeps,
  type RunnerSettings,
  type RunOutcome,
  type StopReason,
  stoppedOutcome,
  stopReasonOf,
} from "./runner.ts";
import { waitForExit } from "./wait-for-exit.ts";

type Command = {
  argv: readonly string[];
  env?: Record<string, string> | undefined;
  cwd?: string | undefined;
  secrets?: readonly string[] | undefined;
  /** More of the environment, masked in the output like secrets. */
  secretEnv?: Readonly<Record<string, string>> | undefined;
  /** Files of the host that this job sees, in addition to what every job sees. */
  mounts?: readonly JobMount[] | undefined;
  /** What the process reads on its standard input; nothing by default. */
  stdin?: Uint8Array | undefined;
  /** The same from a file. */
  stdinFile?: string | undefined;
  /** What the coding agent's entry allows; with it the network is closed, whatever the job says. */
  egress?: Egress | undefined;
  /** Becomes the content of JOB_INPUT_FILE. In a cage, null needs no file of its own: all share one. */
  input: JsonValue;
  /** How a result is printed: in the last line by default, or also as one JSON document over several lines. */
  resultForm?: ResultForm | undefined;
  /** Called after the start was reported and before the process is started. May throw. */
  prepare?(): Promise<void>;
};

const inputName = "input.json";
const resultName = "result.json";
/** The job's output directory, below its work directory. */
export const outputName = "output";
export const inputsName = "inputs";

/** A process and what it was started from. */
export type StartedProcess = { plan: LaunchPlan; running: RunningProcess };

/** The story of one process, the same for every kind of job that runs one: prepare, announce, start, wait, judge. */
export async function runProcess(
  deps: RunnerDeps,
  context: RunContext,
  command: Command,
): Promise<RunOutcome> {
  const started = await startProcess(deps, context, command);
  if ("kind" in started) return started;
  return judgeProcess(context, started, {
    ...(await waitForProcess<StopReason>(deps, context, started.running)),
    form: command.resultForm,
  });
}

/** The first half: prepare, announce, start. */
export async function startProcess(
  deps: RunnerDeps,
  context: RunContext,
  command: Command,
): Promise<StartedProcess | RunOutcome> {
  const plan = await preparePlan(deps, context, command);
  const network = await closeNetwork(deps, context, { limits: plan.limits, agent: command.egress });
  const start = { plan: network?.inPlan(plan) ?? plan, prepare: command.prepare };
  const running = await startInSandbox(deps, context, start).catch((error: unknown) => {
    network?.end();
    throw error;
  });
  if ("kind" in running) network?.end();
  return "kind" in running ? running : { plan, running: network?.watch(running) ?? running };
}

type EndedRun = { exit: ProcessExit; stoppedBy: StopReason | undefined; form?: ResultForm | undefined };

/** The outcome of a job from the end of its process, with its result. */
export async function judgeProcess(
  context: RunContext,
  { plan, running }: StartedProcess,
  { exit, stoppedBy, form }: EndedRun,
): Promise<RunOutcome> {
  const { output, isHomeRemoved = false } = exit;
  if (output !== undefined) context.short?.onHeld(output, isHomeRemoved);
  const result = await readResult({
    resultFile: isHomeRemoved ? null : join(context.workDir, resultName),
    stdout: output?.stdout ?? plan.stdoutFile,
    form,
  });
  const { isolation } = running;
  return exitOutcome(context, { argv: plan.argv, exit, stoppedBy, result, isolation });
}

/** The process, or why there is none: the attempt was ended, or the host cannot cage it as required. */
async function startInSandbox(
  { sandbox }: RunnerDeps,
  context: RunContext,
  { plan, prepare }: { plan: LaunchPlan; prepare: Command["prepare"] },
): Promise<RunningProcess | RunOutcome> {
  const { signal } = context;
  const stopped = (): RunOutcome => notBegun(stoppedOutcome(stopReasonOf(signal), context));
  if (signal.aborted) return stopped();
  try {
    // Before the start is reported: a job that cannot be caged is released as if it had never started.
    const isolation = await sandbox.probe(plan);
    await context.onStarted(isolation);
    if (signal.aborted) return stopped();
    await prepare?.().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (signal.aborted) return stopped();
    const running = await sandbox.start(plan);
    if (running.pid !== 0) context.short?.onLong();
    return running;
  } catch (error) {
    if (!(error instanceof SandboxUnavailable)) throw error;
    return { kind: "released", reason: error.message, isHostDown: error.isHostDown };
  }
}

/** What a process of this attempt is started from. Its files are written here. */
export async function preparePlan(
  { sandbox, settings }: RunnerDeps,
  context: RunContext,
  command: Command,
): Promise<LaunchPlan> {
  const { document, lease, attemptDir, workDir } = context;
  const asked = await readSecrets(settings.secrets, command.secrets ?? [], document.tenant_id);
  const secrets = { ...command.secretEnv, ...asked };
  const inside = sandbox.workDirInside(workDir);
  const input = command.input === null && inside !== workDir ? undefined : canonicalize(command.input);
  const home = await prepareFiles(context, input);

  const env = processEnvironment({
    jobId: lease.job_id,
    attempt: lease.attempt,
    type: document.type,
    inputFile: input === undefined ? noInputFile : join(inside, inputName),
    resultFile: join(inside, resultName),
    outputDir: join(inside, outputName),
    inputsDir: context.inputsDir === undefined ? undefined : join(inside, inputsName),
    traceparent: context.traceparent,
    scheduledFor: scheduledFor(document),
    jobEnv: command.env ?? {},
    secrets,
  });
  return {
    jobId: lease.job_id,
    attempt: lease.attempt,
    argv: [...command.argv],
    env,
    cwd: resolve(inside, command.cwd ?? "."),
    stdoutFile: join(attemptDir, "stdout.log"),
    stderrFile: join(attemptDir, "stderr.log"),
    outputBytesMax: settings.outputBytesMax,
    masks: context.secrets.add(secrets),
    stdin: command.stdin,
    stdinFile: command.stdinFile,
    ...limitsOf(context, settings, command.egress),
    timeoutSec: lease.timeout_sec,
    mounts: [...(command.mounts ?? []), ...(await showInputs(context, inside))],
    workDir,
    ...home,
  };
}

function limitsOf(
  { document, lease }: RunContext,
  settings: RunnerSettings,
  agent: Egress | undefined,
): AskedLimits {
  const asked = effectiveLimits(document.limits ?? {}, settings, lease.limits_defaulted);
  if (agent === undefined) return asked;
  return { ...asked, limits: { ...asked.limits, network: narrower(asked.limits.network, "closed") } };
}

/** The directory of a process that may be short is made by its sandbox; those of others may exist already. */
async function prepareFiles(
  { workDir, short }: RunContext,
  input: string | undefined,
): Promise<Pick<LaunchPlan, "home" | "holdMs" | "holdWrittenMs">> {
  if (short === undefined) {
    await mkdir(join(workDir, outputName), { recursive: true, mode: 0o700 });
    if (input !== undefined) await writeFile(join(workDir, inputName), input, { mode: 0o600 });
    return {};
  }
  const file = input === undefined ? [] : [{ path: inputName, content: input }];
  return { home: { path: workDir, entries: [{ path: outputName }, ...file] }, ...short.hold };
}

/**
 * The job's inputs, in a directory of its own folder. In a cage they are mounted read-only. Without one only their modes
 * say so, and a job that insists can change its own copies.
 */
async function showInputs({ inputsDir, workDir }: RunContext, inside: string): Promise<JobMount[]> {
  if (inputsDir === undefined) return [];
  const place = join(workDir, inputsName);
  if (inside === workDir) {
    await rename(inputsDir, place);
    return [];
  }
  await mkdir(place);
  return [{ source: inputsDir, target: join(inside, inputsName), access: "read-only" }];
}

/** Waits for the end of a process, and terminates it when the context's signal aborts with a Reason. */
export async function waitForProcess<Reason extends string>(
  { clock, logger, settings }: RunnerDeps,
  context: RunContext,
  running: RunningProcess,
): Promise<{ exit: ProcessExit; stoppedBy: Reason | undefined }> {
  // It has ended already, or was never started.
  if (running.pid === 0) return { exit: await running.exited, stoppedBy: undefined };
  const onStuck = (error: unknown): void =>
    logger.error({ err: error, job_id: context.lease.job_id }, "a process cannot be ended");
  context.onProcess(running.pid, running.usage);
  try {
    return await waitForExit<Reason>({ clock, stopGraceMs: settings.stopGraceMs, onStuck }, context, running);
  } finally {
    context.onProcess(0);
  }
}
