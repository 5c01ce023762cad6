import type { Command } from "commander";
import { hasCode, type WritError } from "../../../core/errors.ts";
import { examineAgent, explainSettings } from "../../../worker/doctor.ts";
import type { CliContext } from "../../context.ts";
import { readWorkerSettings, workerHome } from "../up/worker-config.ts";

type Finding = { check: string; state: "ok" | "warning" | "problem"; says: string };

/** What the file of a worker means, in sentences; or everything that is wrong with it. */
export async function examineConfig(
  context: CliContext,
  command: Command,
  config: string,
): Promise<Finding[]> {
  const home = workerHome(context, command);
  try {
    return await explainSettings(await readWorkerSettings(context, home, config), home);
  } catch (error) {
    if (!hasCode(error, "CONFIG_INVALID")) throw error;
    return problemsIn(error as WritError).map((says) => ({ check: "config", state: "problem", says }));
  }
}

/** Whether one of its agents does what it has to do, in a cage and with a model that asks nothing else of it. */
export async function tryAgentOf(
  context: CliContext,
  command: Command,
  { config, ...tried }: { config: string | undefined; agent: string; model: string | undefined },
): Promise<Finding[]> {
  const home = workerHome(context, command);
  return examineAgent(await readWorkerSettings(context, home, config), tried);
}

/** The first problem is the error itself, and the others are listed below it. */
function problemsIn({ message, details }: WritError): string[] {
  const list = typeof details?.["list"] === "string" ? details["list"].trim().split(/\n */) : [];
  return [message, ...list];
}
