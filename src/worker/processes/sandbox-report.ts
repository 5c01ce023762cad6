import type { ClaimGate } from "../claims/claim-gate.ts";
import type { HubLink } from "../hub/hub-link.ts";

type ReportDeps = {
  link: Pick<HubLink, "registerAgain">;
  gate: ClaimGate;
  /** The types that functions of this program handle, which need no cage. */
  functionTypes: readonly string[];
  /** Whether a kind of any type needs no cage: then the hub, which knows the kinds, decides what is claimed. */
  hasOtherKinds: boolean;
};

/** Tells the hub whether this worker can cage processes, and claims accordingly. */
export class SandboxReport {
  readonly #deps: ReportDeps;
  #isTold = true;

  constructor(deps: ReportDeps) {
    this.#deps = deps;
  }

  change(problem: string | null): void {
    const { gate, functionTypes } = this.#deps;
    gate.setSandboxProblem(problem);
    if (problem !== null) gate.claimOnly(functionTypes);
    this.#isTold = false;
    this.send();
  }

  /** Call it again after a drain: a registration would end the drain, so it is postponed until then. */
  send(): void {
    const { link, gate, hasOtherKinds } = this.#deps;
    if (this.#isTold || gate.isToldToDrain) return;
    this.#isTold = true;
    void link.registerAgain().then(() => {
      // After the registration: an earlier claim would get no jobs.
      if (gate.sandboxProblem === null || hasOtherKinds) gate.claimOnly(undefined);
    });
  }
}
