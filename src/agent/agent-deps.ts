import type { Readable, Writable } from "node:stream";
import type { Clock } from "../runtime/clock/clock.ts";
import type { AgentSettings } from "./agent-settings.ts";
import type { AgentLog } from "./logs/agent-log.ts";

/** What a command of the agent knows about its process. */
export type AgentDeps = {
  settings: AgentSettings;
  clock: Clock;
  log: AgentLog;
  version: string;
  /** The container's environment, which its workers get as well. */
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Starts this program again. */
  program: { execPath: string; file: string };
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  /** Aborted when the process is asked to stop. */
  stop: AbortSignal;
  /** Aborted when it is asked a second time. */
  hurry: AbortSignal;
};
