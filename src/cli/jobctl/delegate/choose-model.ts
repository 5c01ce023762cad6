import type { Worker, Writ } from "../../../client/index.ts";
import { offeredModels } from "../../../contract/offered-models.ts";
import { hasCode, WritError } from "../../../core/errors.ts";
import type { Provider } from "../../../core/jobs/document.ts";

export type ModelFlags = { provider?: Provider; model?: string };

type Model = { provider: Provider; model: string };

/** The given model; what is left out is filled in if the workers offer only one that fits. */
export async function chooseModel(writ: Writ, { provider, model }: ModelFlags): Promise<Model> {
  if (provider !== undefined && model !== undefined) return { provider, model };
  const offered = offeredModels(await workersOf(writ)).filter(
    (each) =>
      (provider === undefined || each.provider === provider) && (model === undefined || each.model === model),
  );
  const [only, second] = offered;
  if (only !== undefined && second === undefined) return only;
  const which = [provider, model].filter((each) => each !== undefined).join(" ");
  if (only === undefined) {
    throw new WritError("INVALID_ARGUMENT", `--model: no worker offers ${which || "a model"}`, {
      advice:
        "list it under capabilities in a worker's agents.yaml, or give --provider and --model to wait for one",
    });
  }
  const list = offered.map((each) => `\n  --provider ${each.provider} --model ${each.model}`).join("");
  throw new WritError("INVALID_ARGUMENT", "--model: workers offer several models", {
    advice: "choose one:",
    list,
  });
}

async function workersOf(writ: Writ): Promise<Worker[]> {
  try {
    return await writ.workers();
  } catch (error) {
    if (!hasCode(error, "PERMISSION_DENIED")) throw error;
    throw new WritError("INVALID_ARGUMENT", "--model: you may not see which models there are", {
      advice: "give --provider and --model",
    });
  }
}
