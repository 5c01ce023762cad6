import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { loadWorkerSettings, type WorkerSettings } from "../../../worker/start.ts";
import { findHome, homeFlag } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";

/** The worker's own home: the given one, else a folder in the hub's. */
export function workerHome(context: CliContext, command: Command): string {
  const given = homeFlag(command);
  return given === undefined ? join(findHome(context, command), "worker") : resolve(context.cwd, given);
}

/** From the given agents.yaml, else the one in the worker's home, else from the environment alone. */
export function readWorkerSettings(
  { cwd, env, hostName }: CliContext,
  home: string,
  config: string | undefined,
): Promise<WorkerSettings> {
  const usual = join(home, "agents.yaml");
  const configFile = config === undefined ? (existsSync(usual) ? usual : undefined) : resolve(cwd, config);
  return loadWorkerSettings({ configFile, env, home, hostName });
}
