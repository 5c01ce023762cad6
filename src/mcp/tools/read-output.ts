import { z } from "zod";
import { invalidArgument } from "../../core/errors.ts";
import { outputStreams } from "../../core/jobs/output-stream.ts";
import { grepOutput, readRange, readTail } from "../text/output-text.ts";
import { untrustedCharsMax } from "../text/untrusted.ts";
import { attempt, job } from "./fields.ts";
import { reads, type ToolAnswer, type ToolCall, tool } from "./tool.ts";

const linesMax = 5_000;
/** Some programs keep only the first 2,000 lines of an answer, and the end would be lost. */
const linesDefault = 1_000;

const input = z.strictObject({
  ...job,
  stream: z.enum(outputStreams).default("stdout"),
  attempt,
  tail_lines: z
    .int()
    .min(1)
    .max(linesMax)
    .optional()
    .meta({ description: `So many lines at the end; by default up to ${linesDefault}` }),
  grep: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: "Only lines that contain this text, each with its offset; the last ones" }),
  ignore_case: z.boolean().optional().meta({ description: "With grep" }),
  offset: z
    .int()
    .min(0)
    .optional()
    .meta({ description: "From this byte on, instead of the end; with grep, search from it" }),
  bytes: z
    .int()
    .min(1)
    .max(untrustedCharsMax)
    .default(untrustedCharsMax)
    .meta({ description: "With offset: the most bytes to read" }),
});

export const readOutput = tool({
  name: "read_output",
  title: "Read what a job wrote",
  description: `The end of what a job wrote to stdout or stderr, while it runs and afterwards: at most ${untrustedCharsMax} characters, and never without the end unless you give an offset. Also lines that contain a text (grep), or any part (offset).`,
  hints: reads,
  input,
  async answer(call, given) {
    if (given.tail_lines !== undefined && (given.grep ?? given.offset) !== undefined)
      throw invalidArgument({ path: "tail_lines", message: "cannot be given with grep or offset" });
    if (given.grep !== undefined) return grepped(call, given, given.grep);
    return given.offset === undefined ? tail(call, given) : range(call, given, given.offset);
  },
});

type Given = z.output<typeof input>;

async function tail({ hub, mark }: ToolCall, given: Given): Promise<ToolAnswer> {
  const { size, text, isCut } = await readTail(hub, askedOf(given), {
    linesMax: given.tail_lines ?? linesDefault,
  });
  const part = isCut ? `The end of the ${size} bytes` : `All ${size} bytes`;
  return { texts: [mark(`${part} ${writer(given)} so far.`, text)] };
}

async function range({ hub, mark }: ToolCall, given: Given, offset: number): Promise<ToolAnswer> {
  const found = await readRange(hub, askedOf(given), { offset, bytesMax: given.bytes });
  const more = found.isCut ? ` Continue at offset ${found.next}.` : " That is the end so far.";
  const what = `Bytes ${offset} to ${found.next} of ${found.size} ${writer(given)}.${more}`;
  return { texts: [mark(what, found.text)] };
}

async function grepped({ hub, mark }: ToolCall, given: Given, text: string): Promise<ToolAnswer> {
  const asked = { text, ignoreCase: given.ignore_case, from: given.offset };
  const found = await grepOutput(hub, askedOf(given), asked);
  const more = found.next === null ? "" : ` Not searched to the end: continue with offset ${found.next}.`;
  const shown = found.isCut || found.count > 100 ? "; the last lines that contain it" : "";
  const what = `${found.count} matches in the ${found.size} bytes ${writer(given)}${shown}.${more}`;
  return { texts: [mark(what, found.text)] };
}

function askedOf({ job_id: jobId, stream, attempt }: Given) {
  return { jobId, stream, attempt };
}

function writer({ job_id: id, stream, attempt }: Given): string {
  return `that ${attempt === undefined ? "" : `attempt ${attempt} of `}job ${id} wrote to ${stream}`;
}
