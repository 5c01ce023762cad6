import type { Command } from "commander";
import type { Accepted, Writ } from "../../../client/index.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";

type EachCall = {
  change(writ: Writ, id: string): Promise<Accepted>;
  /** What is true of each job then: "is held". */
  done: string;
};

/** Changes the jobs that are named, one after the other; the first refusal ends the command. */
export function changeEach(command: Command, context: CliContext, { change, done }: EachCall): void {
  command.argument("<ids...>", jobIdHelp).action((parts: string[]) =>
    withWrit(context, command, async (writ) => {
      for (const part of parts) {
        const { id, status } = await change(writ, await resolveJobId(writ, part));
        print(context, command, { job_id: id, state: status }, () => `${id} ${done}\n`);
      }
    }),
  );
}
