import { documentFormat } from "../core/document-format.ts";
import type { Registration } from "./hub-calls.ts";
import type { WorkerSettings } from "./settings.ts";

/** What a worker tells the hub about itself. */
export function registrationOf(
  settings: WorkerSettings,
  facts: { version: string; publicKey: string; kinds: readonly string[]; handlerTypes: string[] },
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
    kinds: [...facts.kinds],
    sessions: settings.sessions,
    document_format: documentFormat,
    slots: settings.slots,
    capabilities: settings.capabilities.map(({ provider, model }) => ({ provider, model })),
    public_key: facts.publicKey,
    version: facts.version,
  };
}
