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

/** What a worker does with a running job while it cannot reach the hub. */
export const disconnectActs = ["keep", "stop"] as const;
export type DisconnectAct = (typeof disconnectActs)[number];

/** How a coding agent works: on a private copy, of which a person applies the changes, or in the repository itself. */
export const delegateModes = ["patch", "in-place"] as const;
export type DelegateMode = (typeof delegateModes)[number];
/** Nothing in a repository changes before a person has seen what would change. */
export const delegateModeDefault: DelegateMode = "patch";

type Disconnectable = { run?: unknown; on_disconnect?: unknown };

/**
 * Whether the job continues while its worker cannot reach the hub, or is stopped before its lease ends, so that it never
 * runs twice at a time. An act that is unknown here is one that a later version has added; stopping is always safe.
 */
export function onDisconnectOf(document: Disconnectable): DisconnectAct {
  const { on_disconnect: chosen = defaultOnDisconnect(document) } = document;
  return chosen === "keep" ? "keep" : "stop";
}

/** A job that changes somebody's files in place is stopped: two of them at once would spoil each other's work. */
export function defaultOnDisconnect({ run }: Disconnectable): DisconnectAct {
  const { kind, mode } = (run ?? {}) as { kind?: unknown; mode?: unknown };
  return kind === "delegate" && mode === "in-place" ? "stop" : "keep";
}
