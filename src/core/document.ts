export const executionLocations = ["LOCAL_MACHINE", "CLOUD"] as const;
export type ExecutionLocation = (typeof executionLocations)[number];
export const providers = ["OPENROUTER", "OLLAMA"] as const;
export type Provider = (typeof providers)[number];

/** The defaults that the hub writes into a document. */
export const documentDefaults = {
  timeoutSec: 300,
  priority: 5,
  maxAttempts: 3,
  executionLocation: "LOCAL_MACHINE",
} as const;
