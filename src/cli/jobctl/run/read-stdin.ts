import { WritError } from "../../../core/errors.ts";
import { inputBytesMax } from "../../../core/limits.ts";
import type { CliContext } from "../../context.ts";
import { collectStdin } from "./collect-input.ts";

/**
 * The standard input for a job, if `-i` asks for it. Without `-i` it is not even opened: it may belong to a loop of the
 * shell around us, as in `while read word; do jobctl start echo "$word"; done`.
 */
export async function readStdin(
  context: CliContext,
  { stdin: isAsked = false }: { stdin?: boolean },
): Promise<Uint8Array | undefined> {
  if (isAsked) {
    const bytes = await collectStdin(context, inputBytesMax);
    if (bytes !== null) return bytes.length === 0 ? undefined : bytes;
    throw new WritError("TOO_LARGE", `-i: standard input has more than ${inputBytesMax} bytes`, {
      advice: "put it into a file and use --input FILE",
    });
  }
  if (context.isInputPiped) {
    context.stderr.write("jobctl: standard input is not sent to the job; -i sends up to 8 MiB of it\n");
  }
  return undefined;
}
