import type { ClaimLoop } from "./claim-loop.ts";
import type { HubLink } from "./hub-link.ts";

type ReportDeps = {
  link: Pick<HubLink, "registerAgain">;
  claims: Pick<ClaimLoop, "onlyTypes">;
  /** Types that functions of this program handle: they need no cage. */
  functionTypes: readonly string[];
  /** Whether kinds of any type need none: then the hub, which knows the kinds, decides alone what is claimed. */
  hasOtherKinds: boolean;
  /** An administrator's drain, which a registration would end. */
  isToldToDrain(): boolean;
};

/** Tells the hub whether this worker can cage processes, and claims accordingly. */
export class SandboxReport {
  readonly #deps: ReportDeps;
  #problem: string | null = null;
  #isTold = true;

  constructor(deps: ReportDeps) {
    this.#deps = deps;
  }

  /** Why no process can be caged here at present. */
  get problem(): string | null {
    return this.#problem;
  }

  change(problem: string | null): void {
    const { claims, functionTypes } = this.#deps;
    this.#problem = problem;
    if (problem !== null) claims.onlyTypes = functionTypes;
    this.#isTold = false;
    this.send();
  }

  /** Call it again when a drain is over: until then the hub is not told. */
  send(): void {
    const { link, claims, isToldToDrain, hasOtherKinds } = this.#deps;
    if (this.#isTold || isToldToDrain()) return;
    this.#isTold = true;
    void link.registerAgain().then(() => {
      // Only then: a claim that comes before the registration is given nothing.
      if (this.#problem === null || hasOtherKinds) claims.onlyTypes = undefined;
    });
  }
}
