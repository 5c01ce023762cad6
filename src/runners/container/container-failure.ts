import { cutText } from "../../core/text/cut-text.ts";
import { RunFailure } from "../runner.ts";

/** The end of the program that leads into a container, when the agent has reported nothing. */
export type SilentEnd = {
  container: string;
  command: string;
  exit: { code: number | null; signal: string | null; spawnCode?: string | undefined };
  /** The agent had begun, so the job may have done anything. */
  hasBegun: boolean;
  /** The program's own text, outside of the job's output. */
  text: string;
};

const shownCharsMax = 500;

/** Finds why a job in a container has no report, in the order in which a person would. */
export function silentEndFailure(end: SilentEnd): RunFailure {
  const { container, command, exit, hasBegun } = end;
  if (exit.spawnCode === "ENOENT") {
    return notStarted(`${command}, which leads into container ${container}, is not installed on this worker`);
  }
  if (exit.spawnCode !== undefined) {
    return notStarted(
      `${command}, which leads into container ${container}, cannot be started: ${exit.spawnCode}`,
    );
  }
  const how = exit.signal === null ? `exit code ${exit.code}` : `killed by ${exit.signal}`;
  const text = cutText(end.text.replaceAll(/\s+/g, " ").trim(), shownCharsMax);
  const said = text === "" ? how : `${text} (${how})`;
  if (hasBegun) {
    const reason = `the agent in container ${container} ended without a report: ${said}`;
    return new RunFailure("WORKER_DISCONNECTED", undefined, reason);
  }
  if (/writ-agent/.test(text) && !/no such container/i.test(text)) {
    return notStarted(`writ-agent cannot be started in container ${container}: ${said}`);
  }
  return new RunFailure(
    "EXECUTION_ERROR",
    "WORKER_NOT_READY",
    `container ${container} cannot be entered: ${said}`,
  );
}

function notStarted(reason: string): RunFailure {
  return new RunFailure("EXECUTION_ERROR", "SPAWN_FAILED", reason);
}
