import { z } from "zod";
import { text } from "../../contract/shapes/fields.ts";
import { limits } from "../../contract/shapes/run-shapes.ts";
import { jsonText, runsWork, tool } from "./tool.ts";

const input = z.strictObject({
  command: z
    .array(z.string())
    .min(1)
    .meta({ description: 'Program and arguments; no shell reads them. For a shell: ["sh", "-c", "…"]' }),
  cwd: z.string().optional().meta({ description: "Directory to run in; by default an empty one of the job" }),
  env: z.record(z.string(), z.string()).optional().meta({ description: "Environment variables" }),
  stdin: z.string().optional().meta({ description: "Text for its standard input" }),
  timeout_sec: z.int().min(0).optional().meta({ description: "Ends it after this time; 0 for no limit" }),
  limits: limits
    .optional()
    .meta({ description: 'At most this much, such as {"memory": "512M", "cpu": "2"}' }),
  tags: z.array(z.string()).optional().meta({ description: "Only on workers with all of these tags" }),
  idempotency_key: text(1, 200)
    .optional()
    .meta({ description: "A second call with this key and the same arguments starts nothing" }),
});

export const runJob = tool({
  name: "run_job",
  title: "Run a command as a job",
  description:
    "Starts a command on a worker and returns the id of its job at once; the job is stored before that. It is tried once. Then: wait_job for its end, read_output for what it writes.",
  act: "run",
  hints: runsWork,
  input,
  async answer({ hub }, { stdin, tags, ...fields }) {
    const { body } = await hub.call("startCommand", {
      body: {
        ...fields,
        ...(stdin === undefined || stdin === "" ? {} : { stdin: Buffer.from(stdin).toString("base64") }),
        ...(tags === undefined ? {} : { requires: { tags } }),
      },
    });
    return { texts: [jsonText({ job_id: body.id, status: body.status })], startedJobId: body.id };
  },
});
