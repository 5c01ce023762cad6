import type { JobDocument } from "../../contract/document.ts";
import { RunFailure } from "../runner.ts";

/** For what runs a job without a process of its own. Throws a RunFailure if the job asks for a closed network. */
export function refuseClosedNetwork({ limits }: Pick<JobDocument, "limits">, what: string): void {
  if (limits?.network !== "closed") return;
  const reason = `the network of ${what} cannot be closed for one job; use limits.network host or none`;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}
