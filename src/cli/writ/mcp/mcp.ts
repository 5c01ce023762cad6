import { randomBytes } from "node:crypto";
import type { Writable } from "node:stream";
import type { Command } from "commander";
import { HubCaller } from "../../../client/hub/hub-caller.ts";
import { WritError } from "../../../core/errors.ts";
import { type Allowance, allowanceHelp, parseAllowance } from "../../../mcp/allowance.ts";
import { redactText } from "../../../runtime/log/redact.ts";
import { httpOptions } from "../../connection/client-options.ts";
import { loadConnection } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { parsed } from "../../program.ts";
import { programFlags } from "../../shared-options.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";
import { hubForTools } from "./hub-for-tools.ts";

export function define(command: Command, context: CliContext): void {
  command
    .option(
      "--allow <acts>",
      `what the tools may do beside reading: ${allowanceHelp} (default: nothing)`,
      parsed(parseAllowance, allowanceHelp),
    )
    .addHelpText(
      "after",
      "\nA program such as Claude Code starts it and speaks MCP with it. It acts with the token or certificate that jobctl\nuses here; `writ skills install` adds it to the settings of such programs.",
    )
    .action((flags: { allow?: Allowance }) => serve(context, command, flags.allow ?? new Set()));
}

async function serve(context: CliContext, command: Command, allowed: Allowance): Promise<void> {
  refuseTokenFlag(command);
  const hub = new HubCaller(httpOptions(await loadConnection(context, command)));
  // The library of the protocol takes a quarter of a second to load, and no other command needs it.
  const { answerStdio } = await import("../../../mcp/serve-stdio.ts");
  const { stdin, stdout, stops, version } = context;
  const signal = stops.requested;
  const options = {
    hub: hubForTools(hub, signal),
    allowed,
    version,
    nonce: () => randomBytes(9).toString("base64url"),
    allowHelp: "`writ mcp` was not started with it in --allow",
    onError: (error: unknown) => tell(context, error),
  };
  try {
    await answerStdio(options, { stdin, stdout: stdout as Writable, signal });
  } finally {
    hub.close();
  }
}

/** The settings of programs that start this are read by many, and so is the list of processes. */
function refuseTokenFlag(command: Command): void {
  if (programFlags<{ token: string }>(command)["token"] === undefined) return;
  throw new WritError(
    "INVALID_ARGUMENT",
    "--token: not here, where every process could read it; give WRIT_TOKEN, or the token in jobctl.yaml of --home",
  );
}

/** Standard output belongs to the protocol. */
function tell({ stderr }: CliContext, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  stderr.write(`writ mcp: ${neutraliseLine(redactText(text))}\n`);
}
