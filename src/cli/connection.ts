import type { Command } from "commander";
import { Writ } from "../client/index.ts";
import { loadConnection } from "./connection-settings.ts";
import type { CliContext } from "./context.ts";

export { findHome } from "./connection-settings.ts";

/** Opens an HTTP client, which authenticates with a token, for as long as `act` runs. */
export async function withWrit<T>(
  context: CliContext,
  command: Command,
  act: (writ: Writ) => Promise<T>,
): Promise<T> {
  const { hub, token, ca, allowInsecure, home } = await loadConnection(context, command);
  const writ = new Writ({ url: hub, token, home, caFile: ca, allowInsecure });
  try {
    return await act(writ);
  } finally {
    writ.close();
  }
}
