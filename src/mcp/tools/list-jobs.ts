import { z } from "zod";
import { listFilter } from "../../contract/list-query.ts";
import { describeJob } from "../text/describe-job.ts";
import { jsonText, reads, tool } from "./tool.ts";

const rowsMax = 50;

export const listJobs = tool({
  name: "list_jobs",
  title: "List jobs",
  description: "Jobs that this token may see, newest first.",
  hints: reads,
  input: z.strictObject({
    status: listFilter.shape.status.meta({
      description: "pending, assigned, running, completed, failed or quarantined; several with commas",
    }),
    type: listFilter.shape.type.meta({ description: "A type; with a * at its end all that begin so" }),
    q: z.string().optional().meta({ description: "Part of an id, a type or a command" }),
    limit: z.int().min(1).max(rowsMax).default(20),
    cursor: z.string().optional().meta({ description: "From the answer before, for the next page" }),
  }),
  async answer({ hub }, query) {
    const { body, header } = await hub.call("listJobs", { query });
    const next = header("x-next-cursor");
    const page = { jobs: body.map((one) => describeJob(one)), ...(next && { next_cursor: next }) };
    return { texts: [jsonText(page)] };
  },
});
