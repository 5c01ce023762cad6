import type { Readable, Writable } from "node:stream";
import type { Clock } from "../runtime/clock.ts";
import type { AgentLog } from "./agent-log.ts";
import type { AgentSettings } from "./agent-settings.ts";

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
