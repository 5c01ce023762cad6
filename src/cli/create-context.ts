import { fstatSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import manifest from "../../package.json" with { type: "json" };
import { findCheckout } from "../client/hub/checkout.ts";
import { codeOf, hasCode } from "../core/errors.ts";
import { homeOfUser } from "../runtime/settings/home.ts";
import type { CliContext, TextSink } from "./context.ts";
import { StopRequests } from "./stop-requests.ts";

type ProcessView = Pick<
  NodeJS.Process,
  "argv" | "env" | "stdin" | "cwd" | "execPath" | "version" | "platform"
> & {
  stdout: TextSink;
  stderr: TextSink;
};

/** Collects what a command may know about its process. */
export function createContext(
  program: CliContext["program"],
  view: ProcessView,
  /** The descriptor of standard input, if there is one to look at. */
  stdinFd?: number,
): CliContext {
  const { env, execPath, stdout, stderr } = view;
  const [, file = "", ...args] = view.argv;
  return {
    program,
    args,
    env,
    // Few commands read it, and opening it takes time.
    get stdin() {
      return view.stdin;
    },
    get isInputPiped() {
      return isPipe(stdinFd);
    },
    stdout: quietPipe(stdout),
    stderr: quietPipe(stderr),
    cwd: view.cwd(),
    userHome: homeOfUser(env),
    osUser: nameOfUser(env),
    hostName: hostname(),
    execPath,
    nodeVersion: view.version,
    platform: view.platform,
    programFile: file,
    checkout: findCheckout(import.meta.url),
    version: manifest.version,
    stops: new StopRequests(),
    exitCode: 0,
  };
}

/** A reader that closes early (`jobctl list | head`) is not an error; later output is dropped. A full disk is one. */
function quietPipe(sink: TextSink): TextSink {
  sink.on("error", (error) => {
    sink.isGone = true;
    if (!hasCode(error, "EPIPE")) sink.problem ??= codeOf(error);
  });
  return sink;
}

/** Programs that start us give us a socket or nothing; a pipe is made by a shell, for somebody who means it. */
function isPipe(fd: number | undefined): boolean {
  try {
    return fd !== undefined && fstatSync(fd).isFIFO();
  } catch {
    // The descriptor is closed.
    return false;
  }
}

/** In a container there may be a user id without a name. */
function nameOfUser(env: Readonly<Record<string, string | undefined>>): string {
  try {
    return userInfo().username;
  } catch {
    // The user id has no entry.
    return env["USER"] || "unknown";
  }
}
