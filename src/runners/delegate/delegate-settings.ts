import type { Egress } from "../../core/egress.ts";
import type { Provider } from "../../core/jobs/document.ts";
import type { Protocol } from "./protocols/protocol.ts";

/** What a worker needs to run delegate jobs, as agents.yaml describes it. */
export type DelegateSettings = {
  /** In the order of the file: the first is the agent `default`. */
  agents: readonly AgentEntry[];
  capabilities: readonly Capability[];
  /** Relative to the repository; every path that a job may change has to be in one of them. None: a job may change nothing. */
  allowedPathPrefixes: readonly string[];
  /** Absolute, with `~` replaced. No agent sees what is in them. The worker's own home is one of them. */
  forbiddenPaths: readonly string[];
  /** Absolute, with `~` replaced: where repositories may be. Undefined for anywhere that is not forbidden. */
  repoRoots?: readonly string[] | undefined;
  /** Of one changed file, and of all changed files of a job. */
  maxFileBytes: number;
  maxTotalBytes: number;
  /** Variables of the worker's own environment that entries name in `envFromWorker`. */
  workerEnv: Readonly<Record<string, string>>;
};

/** How one coding agent is started. */
export type AgentEntry = {
  name: string;
  /** Without one, and if it is not built in, the agent is a program outside the cage that watches the repository. */
  command?: readonly string[] | undefined;
  /** The text of the task on its standard input; nothing by default. */
  stdin?: "task" | undefined;
  /** How it tells what it does; `text` by default: not at all. */
  protocol?: Protocol | undefined;
  builtin?: "chat" | undefined;
  envFromWorker: readonly string[];
  /** Absolute. Becomes the HOME of the agent, which may write there. */
  home?: string | undefined;
  session?: string | undefined;
  /** Run after the agent, in the repository, which it cannot change. */
  validate?: readonly string[] | undefined;
  /** What it may reach; its network is closed then. Undefined for what its job says. */
  egress?: Egress | undefined;
  /** Relative to the repository; only for agents outside the cage. */
  taskFile?: string | undefined;
  completionMarker?: string | undefined;
};

/** A model that this worker may use. */
export type Capability = {
  provider: Provider;
  model: string;
  endpoint?: string | undefined;
  /** For one call of the endpoint. */
  timeoutMs: number;
  /** Jobs at once; undefined for as many as there are slots. */
  maxConcurrent?: number | undefined;
  /** Contains the key for the endpoint; only the built-in chat agent reads it. */
  apiKeyFile?: string | undefined;
};
