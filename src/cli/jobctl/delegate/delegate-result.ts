import { z } from "zod";
import type { Job } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import { delegateModes } from "../../../core/jobs/document.ts";

const resultShape = z.object({
  mode: z.enum(delegateModes),
  changed: z.array(
    z.object({
      path: z.string(),
      change: z.enum(["added", "modified", "deleted"]),
      sha256: z.string().optional(),
    }),
  ),
});

export type DelegateResult = z.infer<typeof resultShape>;
export type ChangedFile = DelegateResult["changed"][number];

/** What an agent has changed, as the job's result says; undefined if it says nothing about that. */
export function delegateResult({ run, result, partial_result }: Job): DelegateResult | undefined {
  if (run?.kind !== "delegate") return undefined;
  const parsed = resultShape.safeParse(result ?? partial_result);
  return parsed.success ? parsed.data : undefined;
}

export function refuseOtherKinds({ id, run }: Job): void {
  if (run === null || run?.kind === "delegate") return;
  throw new WritError("INVALID_ARGUMENT", `job ${id} was not given to a coding agent, so it has no diff`, {
    advice: "`jobctl artifacts list ID` shows the files that it has left",
  });
}
