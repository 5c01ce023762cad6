import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseEnv, dropDatabaseOf } from "./home-database.ts";
import { removeHome } from "./remove-home.ts";

const root = join(import.meta.dirname, "../..");
const startsWithinMs = 60_000;

type HubFile = { url: string; port: number; pid: number };

/** A hub as users run it, in a process that can be killed at any moment and started again on the same home and port. */
export class HubProcess {
  readonly home: string;
  readonly #env: Record<string, string>;
  readonly #program: string;
  #child: ChildProcess | null = null;
  #port = 0;
  url = "";

  /** `program` is another version of `bin/writ`. */
  constructor(env: Record<string, string> = {}, program = join(root, "bin/writ")) {
    this.home = mkdtempSync(join(tmpdir(), "writ-hub-"));
    this.#env = env;
    this.#program = program;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  get token(): string {
    return readFileSync(join(this.home, "admin.token"), "utf8").trim();
  }

  async start(): Promise<void> {
    // A hub that was killed leaves its file behind; the new one must not be taken for the old.
    rmSync(join(this.home, "hub.json"), { force: true });
    const args = ["hub", "--home", this.home, "--port", String(this.#port), "--grpc-port", "0"];
    const child = spawn(this.#program, args, {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"], ...(await databaseEnv(this.home)), ...this.#env },
    });
    this.#child = child;
    let errors = "";
    child.stderr!.on("data", (text) => {
      errors += text;
    });
    const file = await this.#hubFile(child, () => errors);
    this.#port = file.port;
    this.url = file.url;
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await exited;
    this.#child = null;
  }

  /** Stops it for as long as it likes, without a word: SIGSTOP, and SIGCONT to let it go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child!.kill(signal);
  }

  async remove(): Promise<void> {
    await this.kill();
    await dropDatabaseOf(this.home);
    removeHome(this.home);
  }

  async #hubFile(child: ChildProcess, errors: () => string): Promise<HubFile> {
    const path = join(this.home, "hub.json");
    const giveUpAt = Date.now() + startsWithinMs;
    while (!existsSync(path)) {
      if (child.exitCode !== null || child.signalCode !== null || Date.now() > giveUpAt)
        throw new Error(`the hub did not start: ${errors()}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return JSON.parse(readFileSync(path, "utf8"));
  }
}
