import type { ClaimGate } from "../claims/claim-gate.ts";
import type { HubLink } from "../hub/hub-link.ts";

type ReportDeps = {
  link: Pick<HubLink, "registerAgain">;
  gate: ClaimGate;
  /** Types that functions of this program handle: they need no cage. */
  functionTypes: readonly string[];
  /** Whether kinds of any type need none: then the hub, which knows the kinds, decides alone what is claimed. */
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

  /** Call it again when a drain is over: a registration would end the drain, so the hub is not told before. */
  send(): void {
    const { link, gate, hasOtherKinds } = this.#deps;
    if (this.#isTold || gate.isToldToDrain) return;
    this.#isTold = true;
    void link.registerAgain().then(() => {
      // Only then: a claim that comes before the registration is given nothing.
      if (gate.sandboxProblem === null || hasOtherKinds) gate.claimOnly(undefined);
    });
  }
}
