import { z } from "zod";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { isEnded } from "../../core/jobs/job.ts";
import { outputStreams } from "../../core/jobs/output-stream.ts";
import { readTail } from "../text/output-text.ts";
import { job } from "./fields.ts";
import { jobTexts } from "./get-job.ts";
import { reads, type ToolCall, tool } from "./tool.ts";

/** Programs that call tools give up after a minute. */
const waitSecMax = 45;

export const waitJob = tool({
  name: "wait_job",
  title: "Wait for a job",
  description: `Waits until a job has ended, at most ${waitSecMax} s in one call, and returns its state with the end of what it wrote. If "ended" is false, call it again.`,
  hints: reads,
  input: z.strictObject({
    ...job,
    timeout_sec: z
      .number()
      .min(0)
      .max(waitSecMax)
      .default(waitSecMax)
      .meta({ description: `Wait at most this long, up to ${waitSecMax} s` }),
  }),
  async answer(call, { job_id: id, timeout_sec: sec }) {
    const view = await call.hub.waitForEnd(id, sec * 1000);
    return { texts: await endTexts(call, view) };
  },
});

/** Of each stream. */
const tailCharsMax = 3_000;

/** The state of a job, why it is in it, and the end of its output if it has ended. */
export async function endTexts(call: ToolCall, view: JobView): Promise<string[]> {
  const why = await call.hub.call("explainJob", { params: { id: view.id } });
  const texts = jobTexts(call, view, why.body);
  if (!isEnded(view.status) || view.output.removed === true) return texts;
  for (const stream of outputStreams) {
    if (view.output[stream] === 0) continue;
    const tail = await readTail(call.hub, { jobId: view.id, stream }, { charsMax: tailCharsMax });
    const part = tail.isCut ? `The end of the ${tail.size} bytes` : `All ${tail.size} bytes`;
    texts.push(call.mark(`${part} that job ${view.id} wrote to ${stream}.`, tail.text));
  }
  return texts;
}
