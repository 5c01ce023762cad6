import { z } from "zod";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import type { WhyView } from "../../contract/why-view.ts";
import { neutralise } from "../../core/text/neutralise.ts";
import { describeJob } from "../text/describe-job.ts";
import { beginningOf } from "../text/untrusted.ts";
import { job } from "./fields.ts";
import { jsonText, reads, type ToolCall, tool } from "./tool.ts";

export const getJob = tool({
  name: "get_job",
  title: "Look at a job",
  description:
    "The state of a job and why it is in it: what a waiting job waits for, how a failed one failed. read_output has all that it wrote.",
  hints: reads,
  input: z.strictObject(job),
  async answer(call, { job_id: id }) {
    const params = { id };
    const { body } = await call.hub.call("getJob", { params });
    const why = await call.hub.call("explainJob", { params });
    return { texts: jobTexts(call, body, why.body) };
  },
});

const resultCharsMax = 4_000;

/** What the hub knows of a job, and apart from it what the job itself has reported. */
export function jobTexts({ mark }: Pick<ToolCall, "mark">, view: JobView, why?: WhyView): string[] {
  const lastLine = why?.failure?.last_line ?? view.fail_history.at(-1)?.last_line;
  const reported = [
    ["the last line of its stderr", lastLine],
    ["why it failed, as its worker reported it", view.fail_reason],
    ["its progress", view.progress_detail],
    ["its result", view.result === null ? null : JSON.stringify(view.result)],
  ].filter(([, text]) => typeof text === "string" && text !== "");
  const texts = [jsonText(describeJob(view, why))];
  if (reported.length === 0) return texts;
  const text = reported
    .map(([name, said]) => `${name}: ${beginningOf(neutralise(said as string), resultCharsMax)}`)
    .join("\n");
  return [...texts, mark(`What job ${view.id} reported.`, text)];
}
