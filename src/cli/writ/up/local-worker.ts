import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Writ } from "../../../client/index.ts";
import { backOffMs } from "../../../runtime/clock/back-off.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { ensureHome } from "../../../runtime/settings/home.ts";
import type { CliContext } from "../../context.ts";
import { usageCode } from "../../exit.ts";
import { enrollLocalWorker } from "./enroll-local-worker.ts";
import { keysLostCode } from "./parent-link.ts";

const restartPause = { firstMs: 500, maxMs: 30_000 };
/** A worker that ran this long did not fail because of its settings, so it is restarted quickly. */
const healthyMs = 60_000;
/** How often the file that the worker has refused is looked at. */
const lookAgainMs = 1_000;
/** How long a worker has to kill its jobs when it must stop at once. */
const stopNowMs = 5_000;

/**
 * The worker that `writ up` runs beside its hub. It is a separate process, so that a crash of one does not affect the
 * other, and it is restarted for as long as the hub runs.
 */
export class LocalWorker {
  readonly workerId: string;
  readonly #context: CliContext;
  readonly #home: string;
  readonly #workerHome: string;
  readonly #hubUrl: string;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #supervision: Promise<void> | undefined;

  constructor(context: CliContext, { home, hubUrl }: { home: string; hubUrl: string }) {
    this.#context = context;
    this.#home = home;
    this.#workerHome = join(home, "worker");
    this.#hubUrl = hubUrl;
    const name = context.env["NODE_ID"] || context.hostName;
    this.workerId = name.replaceAll(/[^A-Za-z0-9._:@-]/g, "-").slice(0, 100) || "local";
  }

  async start(): Promise<void> {
    await ensureHome(this.#workerHome);
    await this.#enroll();
    this.#supervision = this.#supervise();
  }

  /** Asks the worker to finish its jobs; resolves when it has exited. */
  async drain(): Promise<void> {
    this.#stopping.abort();
    this.#tell("drain");
    await this.#supervision;
  }

  async stopNow(): Promise<void> {
    this.#stopping.abort();
    this.#tell("now");
    const kill = systemClock.setTimer(() => this.#child?.kill("SIGKILL"), stopNowMs);
    await this.#supervision;
    kill.cancel();
  }

  async #enroll(): Promise<void> {
    const writ = Writ.fromHome(this.#home);
    try {
      await enrollLocalWorker(writ, {
        name: this.workerId,
        home: this.#home,
        hubUrl: this.#hubUrl,
        file: this.#configFile,
        cwd: this.#context.cwd,
      });
    } finally {
      writ.close();
    }
  }

  get #configFile(): string {
    return join(this.#workerHome, "agents.yaml");
  }

  async #supervise(): Promise<void> {
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      const startedMs = systemClock.monotonicMs();
      const how = await this.#runOnce();
      if (this.#stopping.signal.aborted) return;
      if (systemClock.monotonicMs() - startedMs > healthyMs) failures = 0;
      if (how === `exit ${usageCode}`) await this.#untilCorrected();
      else await this.#pause(how, backOffMs(failures++, restartPause));
      // Its token or the hub's keys may have been revoked. Somebody who revokes a token to stop the worker has to stop `writ up`.
      if (!this.#stopping.signal.aborted) await this.#enroll().catch((error) => this.#complain(error));
    }
  }

  async #pause(how: string, pauseMs: number): Promise<void> {
    const why =
      how === `exit ${keysLostCode}`
        ? "the worker trusts none of the hub's keys any more; restarting it with the new ones"
        : `the worker exited unexpectedly (${how}); restarting it`;
    this.#context.stderr.write(`writ: ${why} in ${pauseMs} ms\n`);
    // Stopping ends the pause; the caller looks at the signal.
    await systemClock.sleep(pauseMs, this.#stopping.signal).catch(() => {});
  }

  /** With the same settings it would only fail again. */
  async #untilCorrected(): Promise<void> {
    const refused = await modifiedAt(this.#configFile);
    this.#context.stderr.write(
      `writ: the worker does not accept its settings; jobs wait until ${this.#configFile} is corrected, or until you start again\n`,
    );
    while (!this.#stopping.signal.aborted && (await modifiedAt(this.#configFile)) === refused)
      // Stopping ends the pause, and then the loop.
      await systemClock.sleep(lookAgainMs, this.#stopping.signal).catch(() => {});
  }

  /** Runs the worker until it exits and returns how it exited. */
  async #runOnce(): Promise<string> {
    const { execPath, programFile } = this.#context;
    const words = ["worker", "--config", this.#configFile, "--home", this.#workerHome, "--with-parent"];
    const child = spawn(execPath, [programFile, ...words], {
      stdio: ["pipe", "ignore", "inherit"],
      env: this.#childEnv(),
    });
    this.#child = child;
    // Writing to a worker that has just died is not an error.
    child.stdin.on("error", () => {});
    try {
      const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
      return signal ?? `exit ${code}`;
    } catch (error) {
      return (error as Error).message;
    } finally {
      this.#child = undefined;
    }
  }

  /** The worker's file says who it is; the client settings in the environment must not override it. */
  #childEnv(): Record<string, string | undefined> {
    const { WRIT_TOKEN, WRIT_HOME, HUB_URL, NODE_ID, ...env } = this.#context.env;
    return env;
  }

  #tell(word: "drain" | "now"): void {
    this.#child?.stdin?.write(`${word}\n`);
  }

  #complain(error: unknown): void {
    this.#context.stderr.write(`writ: the worker could not be enrolled again: ${(error as Error).message}\n`);
  }
}

async function modifiedAt(file: string): Promise<number | undefined> {
  // A file that is gone has no time, which differs from any it had.
  return (await stat(file).catch(() => undefined))?.mtimeMs;
}
