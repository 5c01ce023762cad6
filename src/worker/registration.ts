import type { Registration } from "./hub-calls.ts";
import type { WorkerSettings } from "./settings.ts";

/** What a worker tells the hub about itself. */
export function registrationOf(
  settings: WorkerSettings,
  facts: { version: string; publicKey: string; handlerTypes: string[] },
): Registration {
  return {
    worker_id: settings.workerId,
    name: settings.name,
    location: settings.location,
    cores: settings.cores,
    ram_gb: settings.ramGb,
    tags: settings.tags,
    types: settings.types,
    handler_types: [...Object.keys(settings.handlers), ...facts.handlerTypes],
    slots: settings.slots,
    session: settings.session,
    capabilities: settings.capabilities.map(({ provider, model }) => ({ provider, model })),
    public_key: facts.publicKey,
    version: facts.version,
  };
}
