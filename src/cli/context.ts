import type { Readable } from "node:stream";
import type { StopRequests } from "./stop-requests.ts";

export type TextSink = NodeJS.WritableStream & {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
  /** Set when the reader has closed its end. */
  isGone?: boolean;
  /** Why it takes nothing more, if that is not its reader's wish: the code of a full disk, for example. */
  problem?: string;
};

/** Everything that a command may know about its process. Only the entry files create it from `process`. */
export type CliContext = {
  program: "writ" | "jobctl";
  /** The command that runs, such as `list`, once it is known. */
  commandName?: string;
  /** The words after the program's name. */
  args: string[];
  /** The words of the command to run as a job, if there is one. The option parser never sees them. */
  words?: readonly string[];
  /** The process's own object: the hub deletes secrets from it once it has read them. */
  env: Record<string, string | undefined>;
  stdin: Readable;
  /** Whether standard input is a pipe of a shell, as in `echo hi | jobctl …`. It is not opened to find out. */
  readonly isInputPiped: boolean;
  stdout: TextSink;
  stderr: TextSink;
  cwd: string;
  userHome: string;
  osUser: string;
  hostName: string;
  execPath: string;
  nodeVersion: string;
  platform: NodeJS.Platform;
  /** The file that this program was started from; `writ up` starts its worker from the same file. */
  programFile: string;
  checkout: string | undefined;
  version: string;
  stops: StopRequests;
  /** The exit code of the process when nothing fails. */
  exitCode: number;
};
