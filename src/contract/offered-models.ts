import type { Provider } from "../core/jobs/document.ts";
import type { WorkerView } from "./shapes/worker-view.ts";

type Model = { provider: Provider; model: string };

/** The models that workers offer to coding agents now, each once. */
export function offeredModels(workers: readonly WorkerView[]): Model[] {
  const usable = workers.filter(
    ({ status, kinds }) => status === "active" && (kinds === undefined || kinds.includes("delegate")),
  );
  const models = new Map(
    usable
      .flatMap(({ capabilities }) => capabilities)
      .map(({ provider, model }) => [`${provider} ${model}`, { provider, model }]),
  );
  return [...models.values()];
}
