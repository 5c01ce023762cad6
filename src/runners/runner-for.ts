import type { RunKind } from "../core/document.ts";
import { execRunner } from "./exec.ts";
import { createHandlerRunner, type HandlerFunction } from "./handler.ts";
import { RunFailure, type Runner } from "./runner.ts";

export type RunnerFor = (kind: RunKind) => Runner;

/** The runners of a worker, by kind. To add a kind, write its runner and name it here. */
export function createRunners(handlers: ReadonlyMap<string, HandlerFunction>): RunnerFor {
  const runners = new Map<RunKind, Runner>(
    [execRunner, createHandlerRunner(handlers)].map((runner) => [runner.kind, runner]),
  );
  return (kind) => {
    const runner = runners.get(kind);
    if (runner !== undefined) return runner;
    throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `this worker does not run ${kind} jobs`);
  };
}
