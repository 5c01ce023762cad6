import type { Command } from "commander";
import type { Writ } from "../../client/index.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { wantsJson, writeSlowly } from "../print.ts";
import { wholeNumber } from "../program.ts";
import { resolveJobId } from "../short-id.ts";
import { OutputNeutraliser, safeJson } from "../terminal.ts";

type OutputFlags = { stderr?: boolean; follow?: boolean; attempt?: number };

export function define(command: Command, context: CliContext): void {
  command
    .argument("<id>", "the job, or the start or end of its id")
    .option("--stderr", "its errors instead of its output")
    .option("--follow", "stay until the attempt has ended")
    .option("--attempt <n>", "this attempt instead of the latest", wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action((id: string, flags: OutputFlags) =>
      withWrit(context, command, async (writ) => {
        const jobId = await resolveJobId(writ, id);
        await copyOutput(writ, { context, command, jobId, flags });
      }),
    );
}

/** In a pipe every byte as it is; on a terminal harmless text; as JSON one object per chunk. */
async function copyOutput(
  writ: Writ,
  {
    context,
    command,
    jobId,
    flags,
  }: { context: CliContext; command: Command; jobId: string; flags: OutputFlags },
): Promise<void> {
  const signal = context.stops.asked;
  const stream = flags.stderr ? "stderr" : "stdout";
  const text = new OutputNeutraliser();
  const isTerminal = context.stdout.isTTY === true;
  let offset = 0;
  const show = (chunk: Buffer): string | Buffer => {
    if (wantsJson(command)) return `${safeJson({ stream, offset, data: chunk.toString("base64") })}\n`;
    return isTerminal ? text.push(chunk) : chunk;
  };
  const { follow = false, attempt } = flags;
  for await (const chunk of writ.streamOutput(jobId, { stream, follow, attempt, signal })) {
    await writeSlowly(context, show(chunk), signal);
    offset += chunk.length;
  }
  if (isTerminal) context.stdout.write(text.end());
}
