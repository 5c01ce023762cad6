/** There is no launcher to serve this. */
export class LauncherLost extends Error {
  readonly reason: string;
  /** It had the plan, so nobody knows whether the program was executed. */
  readonly mayHaveBegun: boolean;

  constructor(reason: string, { mayHaveBegun = false } = {}) {
    super(`the launcher is gone: ${reason}`);
    this.name = "LauncherLost";
    this.reason = reason;
    this.mayHaveBegun = mayHaveBegun;
  }
}
