import type { ExitReport } from "./exit-report.ts";

/** The end of a job: the launcher's report, or the reason why there is none. */
export type JobEnd = { kind: "exited"; report: ExitReport } | { kind: "lost"; reason: string };

export type StartAnswer =
  | { kind: "started"; job: LaunchedJob }
  /** Nothing was executed. */
  | { kind: "failed"; step: string; code: string; message: string };

export type LaunchedJob = {
  /** The cage's pid 1, as numbered on the host; 0 if it has ended, with its output held until then. */
  readonly pid: number;
  readonly ended: Promise<JobEnd>;
  signal(signo: number): void;
  kill(): void;
};
