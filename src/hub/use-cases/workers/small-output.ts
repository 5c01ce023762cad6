import type { SmallOutputText } from "../../../contract/shapes/report-shapes.ts";
import { invalidArgument } from "../../../core/errors.ts";
import { largerStream, type SmallOutput, smallOutputBytesMax } from "../../../core/jobs/small-output.ts";
import type { HubDeps } from "../../deps.ts";
import { outputTooLarge } from "./append-output.ts";

/** The output in the report of an attempt's end; undefined if there is none, or if it is empty. Why: ADR 0057. */
export function readSmallOutput(text: SmallOutputText | undefined): SmallOutput | undefined {
  if (text === undefined) return undefined;
  const output = { stdout: decode("stdout", text.stdout), stderr: decode("stderr", text.stderr) };
  const bytes = output.stdout.length + output.stderr.length;
  if (bytes > smallOutputBytesMax) {
    const message = `has ${bytes} bytes; at most ${smallOutputBytesMax} bytes of both streams together can come with the end, append more with POST /jobs/:id/output/:stream`;
    throw invalidArgument({ path: "small_output", message });
  }
  return bytes === 0 ? undefined : output;
}

function decode(stream: keyof SmallOutput, text = ""): Uint8Array {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    // The decoder's error does not name the field.
    throw invalidArgument({ path: `small_output.${stream}`, message: "must be base64 with its padding" });
  }
}

type Ending = {
  jobId: string;
  change: { fence: { attempt: number | null } };
  smallOutput?: SmallOutput | undefined;
};

/**
 * Checks the output in the report of an end. The store checks the tenant's limit, in the same transaction. An attempt
 * that has appended output cannot report other output.
 */
export async function checkSmallOutput(deps: HubDeps, { jobId, change, smallOutput }: Ending): Promise<void> {
  if (smallOutput === undefined) return;
  const { attempt } = change.fence;
  if (attempt === null)
    throw invalidArgument({ path: "small_output", message: "needs the attempt that wrote it: send attempt" });
  const appended = await deps.outputs.appended.sizes({ jobId, attempt });
  if (appended.stdout + appended.stderr > 0) {
    const message = "this attempt has appended output; append the rest too";
    throw invalidArgument({ path: "small_output", message });
  }
  const bytesMax = deps.settings.maxOutputBytes;
  if (largerStream(smallOutput) > bytesMax) throw outputTooLarge(bytesMax);
}
