import { repeat, type Service } from "../../../runtime/service.ts";
import type { HubDeps } from "../../deps.ts";

const roundMs = 2_000;

/** Moves older output out of the database, if it is kept there. Several hubs share the work. Why: ADR 0085. */
export function createOutputCompactor({
  outputs,
  clock,
  failures,
}: Pick<HubDeps, "outputs" | "clock" | "failures">): Service {
  const onError = (error: unknown) => failures.error(error, "older output could not be moved");
  return repeat({ name: "output compactor", intervalMs: roundMs, clock, onError }, (signal) =>
    outputs.appended.compact(signal),
  );
}
