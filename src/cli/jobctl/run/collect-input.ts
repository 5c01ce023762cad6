import { untilAborted } from "../../../runtime/clock/until-aborted.ts";
import type { CliContext } from "../../context.ts";

/** All of an input, or null as soon as it has more than this many bytes. */
export async function collectInput(
  input: AsyncIterable<Buffer | string>,
  bytesMax: number,
): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk as string);
    size += bytes.length;
    if (size > bytesMax) return null;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/** The same of standard input. Ctrl-C ends the wait for it. */
export function collectStdin(
  { stdin, stops }: Pick<CliContext, "stdin" | "stops">,
  bytesMax: number,
): Promise<Buffer | null> {
  return untilAborted(collectInput(stdin, bytesMax), stops.requested);
}
