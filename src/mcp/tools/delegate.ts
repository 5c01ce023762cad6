import { z } from "zod";
import { offeredModels } from "../../contract/offered-models.ts";
import { hasCode, WritError } from "../../core/errors.ts";
import { providers } from "../../core/jobs/document.ts";
import type { McpHub } from "../mcp-hub.ts";
import { jsonText, runsWork, tool } from "./tool.ts";

const input = z.strictObject({
  prompt: z.string().min(1).meta({ description: "What the agent is to do" }),
  repo: z.string().meta({ description: "Absolute path of the repository, as the worker's machine sees it" }),
  allow: z
    .array(z.string())
    .meta({ description: "What the agent may change, relative to the repository; [] for nothing" }),
  agent: z
    .string()
    .default("default")
    .meta({ description: "An agent of the worker; default means its first" }),
  provider: z
    .enum(providers)
    .optional()
    .meta({ description: "By default that of the only model that workers offer" }),
  model: z.string().optional().meta({ description: "By default the only one that workers offer" }),
  steps: z.array(z.string()).optional().meta({ description: "Steps of the task" }),
  expect: z
    .array(z.string())
    .optional()
    .meta({ description: "Files that must be there in the end, or the job fails" }),
  timeout_sec: z.int().min(1).optional().meta({ description: "Ends an attempt after this time" }),
  max_attempts: z.int().min(1).optional(),
});

export const delegate = tool({
  name: "delegate",
  title: "Give a task to a coding agent",
  description:
    "Starts a coding agent on a private copy of a repository, in a cage, and returns the id of its job at once. The repository itself stays as it is: get_diff shows the changes, and a person applies them with `jobctl apply ID`.",
  act: "delegate",
  hints: runsWork,
  input,
  async answer({ hub }, given) {
    const { prompt, repo, allow, agent, expect, provider, model, ...fields } = given;
    const chosen = await chooseModel(hub, { provider, model });
    const { body } = await hub.call("submitJob", {
      body: {
        type: "delegate",
        ...chosen,
        repo_root: repo,
        allowed_paths: allow,
        run: { kind: "delegate", agent, prompt, expected_artifacts: expect, mode: "patch" },
        ...fields,
      },
    });
    return { texts: [jsonText({ job_id: body.id, status: body.status })], startedJobId: body.id };
  },
});

type Wanted = { provider?: z.output<typeof input>["provider"]; model?: string | undefined };

/** What is left out is filled in if the workers offer only one model that fits. */
async function chooseModel(hub: McpHub, { provider, model }: Wanted) {
  if (provider !== undefined && model !== undefined) return { provider, model };
  const fitting = (await offered(hub)).filter(
    (each) => (provider ?? each.provider) === each.provider && (model ?? each.model) === each.model,
  );
  const [only, second] = fitting;
  if (only !== undefined && second === undefined) return only;
  const names = fitting.map((each) => `${each.provider} ${each.model}`).join(", ");
  throw new WritError(
    "INVALID_ARGUMENT",
    only === undefined
      ? "model: no worker offers such a model; give provider and model to wait for one"
      : `model: workers offer several, give provider and model; one of: ${names}`,
  );
}

async function offered(hub: McpHub) {
  try {
    return offeredModels((await hub.call("listWorkers", {})).body);
  } catch (error) {
    if (!hasCode(error, "PERMISSION_DENIED")) throw error;
    const message = "model: this token may not list workers; give provider and model";
    throw new WritError("INVALID_ARGUMENT", message);
  }
}
