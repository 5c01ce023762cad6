import { setImmediate } from "node:timers/promises";
import { readVerifyingKeys } from "../../signing/ring-file.ts";
import type { HubDeps } from "../deps.ts";
import { placesOf } from "../settings/settings.ts";
import { type AuditVerdict, verifyAudit } from "./verify-audit.ts";

type Deps = Pick<HubDeps, "home" | "settings" | "clock" | "store" | "failures">;

/** The last check of the audit trail that was requested from this hub. */
export type AuditCheckState =
  | { status: "none" }
  | { status: "running"; startedAt: number; through: number; last: number }
  | { status: "done"; startedAt: number; endedAt: number; verdict: AuditVerdict }
  | { status: "failed"; startedAt: number; endedAt: number; reason: string };

/** Checks the audit trail while the hub works; one check at a time. */
export class AuditCheck {
  readonly #deps: Deps;
  #state: AuditCheckState = { status: "none" };

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get state(): AuditCheckState {
    return this.#state;
  }

  /** A check that is already running continues. */
  async start(): Promise<AuditCheckState> {
    if (this.#state.status === "running") return this.#state;
    const startedAt = this.#deps.clock.nowMs();
    this.#state = { status: "running", startedAt, through: 0, last: 0 };
    const { last } = await this.#deps.store.eventRange();
    this.#state = { status: "running", startedAt, through: 0, last };
    void this.#run(startedAt, last);
    return this.#state;
  }

  async #run(startedAt: number, last: number): Promise<void> {
    const { home, settings, clock, failures } = this.#deps;
    const { database, keysDir } = placesOf(home, settings);
    try {
      const verdict = await verifyAudit({
        home,
        database,
        readKeys: () => readVerifyingKeys(keysDir),
        onProgress: async (through) => {
          this.#state = { status: "running", startedAt, through, last: Math.max(last, through) };
          await setImmediate();
        },
      });
      this.#state = { status: "done", startedAt, endedAt: clock.nowMs(), verdict };
    } catch (error) {
      failures.error(error, "the audit trail could not be checked");
      const reason = "the audit trail could not be read; the hub's log says why";
      this.#state = { status: "failed", startedAt, endedAt: clock.nowMs(), reason };
    }
  }
}
