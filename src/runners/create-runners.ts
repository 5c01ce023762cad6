import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { RunKind } from "../contract/kinds.ts";
import type { DiscardFolder } from "../sandbox/discard-folder.ts";
import { withContainers } from "./container/with-containers.ts";
import { agentProblem } from "./delegate/agent-problems.ts";
import { delegateRunner } from "./delegate/delegate-runner.ts";
import { execRunner } from "./exec.ts";
import { execPerJobRunner } from "./exec-per-job.ts";
import { type HandlerFunction, handlerRunner } from "./handler.ts";
import { persistentHttpRunner } from "./persistent-http/persistent-http.ts";
import { RunFailure, type Runner, type RunnerDeps, type RunnerSettings } from "./runner.ts";
import { type SolverSettings, solverRunner } from "./solver/solver-runner.ts";

/** The settings of a worker that its runners need. */
export type RunnersSettings = RunnerSettings & SolverSettings;

export type RunnersDeps = RunnerDeps & {
  settings: RunnersSettings;
  /** Functions of this program, by the type of job that they handle. */
  functions: ReadonlyMap<string, HandlerFunction>;
  /** The directory of the jobs' files. */
  workDir: string;
  /** The directory of logs, with the worker's own. */
  logDir: string;
  discards: Pick<DiscardFolder, "discard">;
};

/** The runners of one worker, from its start to its stop. */
export type Runners = {
  /** The kinds that this worker can run. */
  readonly kinds: readonly RunKind[];
  /** Throws a RunFailure for a kind that this worker does not run. */
  runnerFor(kind: RunKind): Runner;
  /** Call it before the first job; rejects if a runner cannot work with these settings. */
  open(): Promise<void>;
  /**
   * Ends the processes that runners keep between jobs. Call it after the last job; a second call waits for the first.
   * Resolves when everything has ended, or when its time is up, and never rejects: a failure is logged, and the sandbox
   * kills the rest.
   */
  close(hurry: AbortSignal): Promise<void>;
};

/** In addition to the grace period of stopped processes. */
const closeMarginMs = 10_000;

/** To add a kind, write its runner and add it here. */
export function createRunners(deps: RunnersDeps): Runners {
  return runnersOf(deps, [
    execRunner(deps),
    withContainers(deps, execPerJobRunner(deps)),
    withContainers(
      deps,
      persistentHttpRunner({ ...deps, logDir: join(deps.logDir, "http-workers"), newId: randomUUID }),
    ),
    handlerRunner(deps, deps.functions),
    solverRunner(deps),
    ...delegateRunners(deps),
  ]);
}

/** None for a worker without an agent that can run, which then gets no such jobs. */
function delegateRunners(deps: RunnersDeps): Runner[] {
  const { delegate } = deps.settings;
  if (delegate === undefined) return [];
  const { level } = deps.sandbox;
  const canRun = delegate.agents.some((agent) => agentProblem(agent, level) === null);
  return canRun ? [delegateRunner(deps, delegate)] : [];
}

export function runnersOf(deps: RunnerDeps, list: readonly Runner[]): Runners {
  const runners = new Map(list.map((runner) => [runner.kind, runner]));
  let closed: Promise<unknown> | undefined;
  return {
    kinds: [...runners.keys()],
    runnerFor(kind) {
      const runner = runners.get(kind);
      if (runner !== undefined) return runner;
      throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `this worker does not run ${kind} jobs`);
    },
    async open() {
      for (const runner of list) await runner.open?.();
    },
    async close(hurry) {
      closed ??= Promise.all(list.map((runner) => closeRunner(deps, runner, hurry)));
      await closed;
    },
  };
}

async function closeRunner(deps: RunnerDeps, runner: Runner, hurry: AbortSignal): Promise<void> {
  const { clock, logger, settings } = deps;
  if (runner.close === undefined) return;
  const isOver = new AbortController();
  const limitMs = settings.stopGraceMs + closeMarginMs;
  const late = clock.sleep(limitMs, isOver.signal).then(() => {
    throw new Error(`it was still not closed after ${limitMs} ms`);
  });
  try {
    await Promise.race([runner.close(hurry), late]);
  } catch (error) {
    logger.error({ err: error, kind: runner.kind }, "a runner could not end what it keeps between jobs");
  } finally {
    isOver.abort();
  }
}
