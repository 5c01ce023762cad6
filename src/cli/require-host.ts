import { WritError } from "../core/errors.ts";
import type { CliContext } from "./context.ts";

/** "server" runs a hub or a worker; "database" opens a database in a file. */
export type HostNeed = "server" | "database";

const nodeMin = 26;

/** Refuses a command that cannot work on this machine. */
export function requireHost(
  {
    program,
    commandName,
    platform,
    nodeVersion,
  }: Pick<CliContext, "program" | "commandName" | "platform" | "nodeVersion">,
  need: HostNeed | undefined,
): void {
  if (need === undefined) return;
  const command = `${program} ${commandName}`;
  if (need === "server" && platform !== "linux") {
    throw new WritError(
      "CONFIG_INVALID",
      `${command} needs Linux, and this is ${platform}; here you can use a hub that runs on Linux, with --hub`,
    );
  }
  if (Number(/^v(\d+)\./.exec(nodeVersion)?.[1]) >= nodeMin) return;
  throw new WritError(
    "CONFIG_INVALID",
    `${command} needs Node ${nodeMin} or newer, and this is ${nodeVersion}; install that`,
  );
}
