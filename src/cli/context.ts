import type { Readable } from "node:stream";
import type { StopRequests } from "./stop-requests.ts";

export type TextSink = NodeJS.WritableStream & {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
  /** Set when whoever read it has gone. */
  isGone?: boolean;
};

/** Everything that a command may know of the process it runs in. The entry files make it; nobody else looks. */
export type CliContext = {
  program: "writ" | "jobctl";
  /** The words after the program's name. */
  args: string[];
  /** The words of the command that shall run as a job, when there is one; nobody else may look at them. */
  words?: readonly string[];
  /** The process's own object: the hub removes the secrets from it that it has read. */
  env: Record<string, string | undefined>;
  stdin: Readable;
  stdout: TextSink;
  stderr: TextSink;
  cwd: string;
  userHome: string;
  osUser: string;
  hostName: string;
  execPath: string;
  nodeVersion: string;
  /** The file that started this program; `writ up` starts the worker beside itself by it. */
  programFile: string;
  checkout: string | undefined;
  version: string;
  stops: StopRequests;
  /** What the process will end with when nothing fails. */
  exitCode: number;
};
