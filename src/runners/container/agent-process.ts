import { type ChildProcess, spawn } from "node:child_process";
import { signalProcessGroup } from "../../sandbox/plain/process-tree.ts";
import type { SilentEnd } from "./container-failure.ts";
import { FrameReader } from "./relay-frames.ts";

type AgentProcessOptions = {
  /** The command that leads into the container, with the agent's command after it. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  onPiece: ConstructorParameters<typeof FrameReader>[0]["onPiece"];
};

export type AgentExit = {
  exit: SilentEnd["exit"];
  /** What it printed: the report, if all went well. */
  line: string;
  hasBegun: boolean;
  text: string;
};

/** A report has a result of at most 1 MiB. */
const lineBytesMax = 4 * 1024 * 1024;
const textBytesMax = 4096;

/** The agent of one call, seen from outside of its container. Why: ADR 0045. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly exited: Promise<AgentExit>;
  #line = "";
  #text = "";
  #hasBegun = false;

  constructor({ argv, env, onPiece }: AgentProcessOptions) {
    const [command = "", ...args] = argv;
    this.#child = spawn(command, args, { cwd: "/", env, stdio: "pipe", detached: true });
    // Before anything else, because an error without a listener would end the worker.
    this.exited = new Promise((resolve) => {
      let spawnCode: string | undefined;
      this.#child.once("error", (error: NodeJS.ErrnoException) => {
        spawnCode = error.code ?? error.message;
        if (this.#child.pid === undefined) resolve(this.#exitOf({ code: null, signal: null, spawnCode }));
      });
      this.#child.once("close", (code, signal) => resolve(this.#exitOf({ code, signal, spawnCode })));
    });
    // The streams are missing if this worker has no descriptors left.
    const { stdin, stdout, stderr } = this.#child;
    // One that ends without reading everything closes the pipe.
    stdin?.on("error", () => {});
    stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (this.#line.length < lineBytesMax) this.#line += text;
    });
    const frames = new FrameReader({
      onPiece: (stream, piece) => {
        this.#hasBegun = true;
        onPiece(stream, piece);
      },
      onText: (text) => {
        if (this.#text.length < textBytesMax) this.#text += text.toString("utf8");
      },
    });
    stderr?.on("data", (chunk: Buffer) => frames.push(chunk));
  }

  /** 0 if it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  sendText(line: string): void {
    this.#child.stdin?.write(line);
  }

  /** Sends one line on its standard input, which stays open: its end would tell the agent that this worker is gone. */
  send(message: object): void {
    this.sendText(`${JSON.stringify(message)}\n`);
  }

  /** Closes its standard input, as if this worker were gone. */
  abandon(): void {
    this.#child.stdin?.end();
  }

  kill(): void {
    if (this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null)
      signalProcessGroup(this.#child.pid, "SIGKILL");
    // Processes that it left behind may hold the other ends for ever.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  #exitOf(exit: SilentEnd["exit"]): AgentExit {
    return { exit, line: this.#line.trim(), hasBegun: this.#hasBegun, text: this.#text };
  }
}
