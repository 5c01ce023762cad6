import { spawn } from "node:child_process";
import { Duplex, type Readable, type Writable } from "node:stream";
import { builtLauncherFile } from "./launcher.ts";

const refusedStatus = 4;

/**
 * A connection to a port in the network of a process that has one of its own. Rejects with an error that has the code
 * ECONNREFUSED if no process listens there.
 */
export function connectInside(
  { pid, port }: { pid: number; port: number },
  signal: AbortSignal,
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const child = spawn(builtLauncherFile, ["connect", String(pid), String(port)], {
      cwd: "/",
      env: {},
      stdio: ["pipe", "pipe", "pipe"],
    });
    let problem = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      problem = (problem + text).slice(0, 500);
    });
    child.stdin.on("error", () => {});
    const end = (): void => void child.kill("SIGKILL");
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      end();
      reject(error);
    };
    const onAbort = (): void => fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    child.once("error", fail);
    child.once("close", (status) => {
      const code = status === refusedStatus ? "ECONNREFUSED" : "ECONNRESET";
      fail(Object.assign(new Error(problem.trim() || "the connection ended"), { code }));
    });
    // Its first byte says that the connection is open.
    child.stdout.once("readable", () => {
      if (child.stdout.read(1) === null) return;
      signal.removeEventListener("abort", onAbort);
      const connection = new ChildConnection(child.stdin, child.stdout);
      connection.once("close", end);
      resolve(connection);
    });
    if (signal.aborted) onAbort();
  });
}

/** Both pipes of a process as one stream. */
class ChildConnection extends Duplex {
  readonly #stdin: Writable;
  readonly #stdout: Readable;

  constructor(stdin: Writable, stdout: Readable) {
    super();
    this.#stdin = stdin;
    this.#stdout = stdout;
    stdout.on("data", (chunk) => this.push(chunk) || stdout.pause());
    stdout.once("end", () => this.push(null));
    stdout.pause();
  }

  override _read(): void {
    this.#stdout.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#stdin.write(chunk, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stdin.destroy();
    this.#stdout.destroy();
    done(error);
  }
}
