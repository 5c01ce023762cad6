import type { Command } from "commander";
import type { Why, Writ } from "../../../client/index.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import type { CliContext } from "../../context.ts";
import { WaitNotices } from "./wait-notices.ts";

type WaitingCommand = {
  context: CliContext;
  command: Command;
  jobId: string;
  /** The client that asks. By default one is opened when there is something to ask: most jobs begin at once. */
  writ?: Writ;
  /** Called before each line, to clear what stands on the terminal. */
  beforeLine?: () => void;
};

/** Says what the command waits for while `act` runs. */
export async function sayWaiting<T>(
  { context, command, jobId, writ, beforeLine }: WaitingCommand,
  act: (notices: WaitNotices) => Promise<T>,
): Promise<T> {
  let opened: Promise<Writ> | undefined;
  const why = async (signal: AbortSignal): Promise<Why> => {
    if (writ === undefined) {
      opened ??= import("../../connection/connection.ts").then(({ openWrit }) => openWrit(context, command));
    }
    return (writ ?? (await opened!)).why(jobId, { signal });
  };
  const notices = new WaitNotices({ context, clock: systemClock, why, beforeLine });
  try {
    return await act(notices);
  } finally {
    notices.stop();
    // A client that could not be opened has nothing to close.
    void opened?.then((own) => own.close()).catch(() => {});
  }
}
