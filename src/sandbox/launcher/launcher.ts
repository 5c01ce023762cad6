import { constants } from "node:fs";
import { access, type FileHandle } from "node:fs/promises";
import { codeOf } from "../../core/errors.ts";
import { builtFiles } from "../../runtime/built-files.ts";
import { backOffMs } from "../../runtime/clock/back-off.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { CageRights } from "../cage-rights.ts";
import type { StartAnswer } from "./launched-job.ts";
import type { TakeListener } from "./launched-jobs.ts";
import { LauncherLink, type OnStalled } from "./launcher-link.ts";
import { LauncherLost } from "./launcher-lost.ts";
import { type LauncherPlan, openHow } from "./launcher-protocol.ts";

export const builtLauncherFile = builtFiles.launcher;

export type OpenHow = "read" | "create" | "directory";

type LauncherDeps = {
  file: string;
  clock: Clock;
  /** Called for each launcher that died unexpectedly. */
  onDeath?(reason: string): void;
  onStalled?: OnStalled;
};

const startPause = { firstMs: 100, maxMs: 30_000 };
const howBits = { read: openHow.READ, create: openHow.CREATE, directory: openHow.DIRECTORY } as const;

/**
 * The one resident launcher of a worker. It is started when it is first needed; when it dies, the next call starts a
 * new one. A launcher that dies without having served a job is restarted only after a pause, which grows with each
 * failure, so that a launcher that cannot work here costs only a message from time to time. Why: ADR 0015.
 */
export class Launcher {
  readonly #deps: LauncherDeps;
  #link: Promise<LauncherLink> | undefined;
  #failures = 0;
  #notBeforeMs = 0;
  #lastReason = "";
  #isStopped = false;

  constructor(deps: LauncherDeps) {
    this.#deps = deps;
  }

  /** Why there can be no launcher, or null if one can be started. */
  async obstacle(): Promise<string | null> {
    try {
      await access(this.#deps.file, constants.X_OK);
      return null;
    } catch (error) {
      return `${this.#deps.file}: ${codeOf(error)}`;
    }
  }

  /** The rights with which it builds cages. Rejects with LauncherLost. */
  async rights(): Promise<CageRights> {
    return (await this.#current()).rights;
  }

  /** Rejects with LauncherLost or PlanRefused; a step of the cage that failed is an answer. */
  async start(plan: LauncherPlan, takeListener?: TakeListener): Promise<StartAnswer> {
    return (await this.#current()).start(plan, takeListener);
  }

  /**
   * Opens a file beneath a directory: never through a symbolic link and never outside, even while another process
   * renames things. Rejects with the kernel's code (ENOENT, ELOOP, EXDEV, EEXIST …).
   */
  async openBeneath(
    dir: string,
    path: string,
    how: OpenHow,
    options: { sameMount?: boolean } = {},
  ): Promise<FileHandle> {
    const bits = howBits[how] | (options.sameMount ? openHow.SAME_MOUNT : 0);
    return (await this.#current()).openBeneath(dir, path, bits);
  }

  /** Ends the launcher and with it every job. Resolves when it is gone. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    // A launcher that could not be started needs no stop.
    const link = await this.#link?.catch(() => undefined);
    await link?.stop();
  }

  async #current(): Promise<LauncherLink> {
    if (this.#isStopped) throw new LauncherLost("it was stopped");
    if (this.#link !== undefined) return this.#link;
    const waitMs = this.#notBeforeMs - this.#deps.clock.monotonicMs();
    if (waitMs > 0) throw new LauncherLost(`${this.#lastReason}; the next try is in ${Math.ceil(waitMs)} ms`);
    // All callers that need one at the same time wait for the same one.
    this.#link = this.#open();
    return this.#link;
  }

  async #open(): Promise<LauncherLink> {
    try {
      const link = await LauncherLink.open(this.#deps.file, this.#deps.clock, this.#deps.onStalled);
      void link.gone.then((reason) => this.#lost(link, reason));
      return link;
    } catch (error) {
      this.#link = undefined;
      this.#fail(error instanceof LauncherLost ? error.reason : String(error));
      throw error;
    }
  }

  #lost(link: LauncherLink, reason: string): void {
    if (this.#isStopped) return;
    this.#link = undefined;
    if (link.hasServed) this.#failures = 0;
    else this.#fail(reason);
    this.#deps.onDeath?.(reason);
  }

  #fail(reason: string): void {
    this.#notBeforeMs = this.#deps.clock.monotonicMs() + backOffMs(this.#failures++, startPause);
    this.#lastReason = reason;
  }
}
