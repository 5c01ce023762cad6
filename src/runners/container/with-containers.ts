import type { JobDocument } from "../../contract/document.ts";
import type { Runner, RunnerDeps } from "../runner.ts";
import { runInContainer } from "./run-in-container.ts";

/** Wraps a runner so that jobs which name a container run there. */
export function withContainers(deps: RunnerDeps, runner: Runner): Runner {
  return {
    ...runner,
    run(context) {
      const container = containerOf(context.document);
      return container === undefined ? runner.run(context) : runInContainer(deps, context, container);
    },
  };
}

function containerOf({ run }: JobDocument): string | undefined {
  return "container" in run ? run.container : undefined;
}
