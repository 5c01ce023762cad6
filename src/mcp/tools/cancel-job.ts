import { z } from "zod";
import { job } from "./fields.ts";
import { jsonText, tool } from "./tool.ts";

export const cancelJob = tool({
  name: "cancel_job",
  title: "Cancel a job",
  description: "Ends a job and all its processes. One that has ended stays as it is.",
  act: "cancel",
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject(job),
  async answer({ hub }, { job_id: id }) {
    const { status } = await hub.call("cancelJob", { params: { id } });
    const what = status === 204 ? "it has ended" : "its worker was told to end it; wait_job shows its end";
    return { texts: [jsonText({ job_id: id, cancelled: what })] };
  },
});
