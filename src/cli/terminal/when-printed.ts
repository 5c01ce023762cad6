import { untilWritten } from "../../runtime/files/until-written.ts";
import type { CliContext } from "../context.ts";
import { whenAborted } from "../stop-requests.ts";

type FinishedCommand = Pick<CliContext, "program" | "stdout" | "stderr" | "stops">;

const lostOutputCode = 1;

/**
 * The exit code, when all that was printed is written and the process can end. Ctrl-C ends the wait for a slow reader.
 */
export async function whenPrinted(context: FinishedCommand, exitCode: number): Promise<number> {
  const { stdout, stderr, stops } = context;
  if (stops.requested.aborted) return exitCode;
  const written = Promise.all([stdout, stderr].map(untilWritten)).then(() =>
    codeOfWritten(context, exitCode),
  );
  return Promise.race([written, whenAborted(stops.requested).then(() => stops.exitCode)]);
}

/** Output that was lost is never a success. */
function codeOfWritten({ program, stdout, stderr }: FinishedCommand, exitCode: number): number {
  if (stdout.problem === undefined) return exitCode;
  stderr.write(`${program}: standard output cannot be written (${stdout.problem})\n`);
  return exitCode === 0 ? lostOutputCode : exitCode;
}
