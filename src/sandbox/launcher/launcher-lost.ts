/** No launcher is there to serve the call. */
export class LauncherLost extends Error {
  readonly reason: string;
  /** Whether it had the plan, so that the program may have been executed. */
  readonly mayHaveBegun: boolean;

  constructor(reason: string, { mayHaveBegun = false } = {}) {
    super(`the launcher is gone: ${reason}`);
    this.name = "LauncherLost";
    this.reason = reason;
    this.mayHaveBegun = mayHaveBegun;
  }
}
