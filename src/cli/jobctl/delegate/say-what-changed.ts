import type { Command } from "commander";
import type { Writ } from "../../../client/index.ts";
import type { CliContext } from "../../context.ts";
import { wantsJson } from "../../terminal/print.ts";
import { shortId } from "../../terminal/short-id.ts";
import { delegateResult } from "./delegate-result.ts";

/** Says on stderr how many files an agent has changed, and what to do next. */
export async function sayWhatChanged(
  writ: Writ,
  { context, command, jobId }: { context: CliContext; command: Command; jobId: string },
): Promise<void> {
  if (wantsJson(command)) return;
  const job = await writ.get(jobId);
  const result = delegateResult(job);
  if (result === undefined) return;
  const { length } = result.changed;
  const files = length === 1 ? "1 file" : `${length} files`;
  const id = shortId(jobId);
  const see = `\`jobctl diff ${id}\` shows what`;
  const apply = `, and \`jobctl apply ${id}\` puts it into the repository`;
  const next =
    length === 0
      ? ""
      : result.mode === "in-place"
        ? `; ${see}`
        : `; ${see}${job.status === "completed" ? apply : ""}`;
  context.stderr.write(`${context.program}: the agent changed ${length === 0 ? "nothing" : files}${next}\n`);
}
