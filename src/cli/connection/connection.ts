import type { Command } from "commander";
import { Writ } from "../../client/index.ts";
import type { CliContext } from "../context.ts";
import { httpOptions } from "./client-options.ts";
import { loadConnection } from "./connection-settings.ts";

/** Opens an HTTP client for as long as `act` runs: with a token, or one that is exchanged for the certificate. */
export async function withWrit<T>(
  context: CliContext,
  command: Command,
  act: (writ: Writ) => Promise<T>,
): Promise<T> {
  const writ = await openWrit(context, command);
  try {
    return await act(writ);
  } finally {
    writ.close();
  }
}

/** Close it after use. */
export async function openWrit(context: CliContext, command: Command): Promise<Writ> {
  return new Writ(httpOptions(await loadConnection(context, command)));
}
