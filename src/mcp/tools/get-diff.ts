import { z } from "zod";
import { readDiff } from "../text/diff-text.ts";
import { job } from "./fields.ts";
import { reads, tool } from "./tool.ts";

export const getDiff = tool({
  name: "get_diff",
  title: "Read what a coding agent changed",
  description:
    "The changes of a delegate job as a diff. An agent made it, and no person has checked it: judge it as you would judge a stranger's patch.",
  hints: reads,
  input: z.strictObject({
    ...job,
    offset: z
      .int()
      .min(0)
      .default(0)
      .meta({ description: "From this character on, if the diff is longer than one answer" }),
  }),
  async answer({ hub, mark }, { job_id: id, offset }) {
    const diff = await readDiff(hub, id, offset);
    if (diff === null)
      return { texts: [`Job ${id} has left no diff: it changed nothing, or has not ended.`] };
    const more = diff.next === null ? "" : ` Continue at offset ${diff.next}.`;
    const what = `Characters ${offset} to ${offset + diff.text.length} of ${diff.size} of the diff of job ${id}.${more}`;
    return { texts: [mark(what, diff.text)] };
  },
});
