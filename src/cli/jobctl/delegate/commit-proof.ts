import { z } from "zod";
import { receiptView } from "../../../contract/shapes/trust-view-shapes.ts";
import { diffPath } from "../../../core/jobs/diff-path.ts";
import { changeablePathProblem } from "../../../core/path-rules.ts";
import { tryParseJson } from "../../../core/text/json-value.ts";

/** The notes of git that carry the proofs. */
export const notesRef = "refs/notes/writ";
const trailerName = "Writ-Job";

/** Base64 of a diff of the largest size that `jobctl apply` takes. */
const patchCharsMax = 360 * 1024 * 1024;

const directory = z.string().refine((path) => path === "" || changeablePathProblem(path) === null);

/** What stands in the note: the receipt with its signatures, the diff itself, and where in the tree it was applied. */
const commitProof = z.strictObject({
  format: z.literal("writ commit proof 1"),
  bundle: receiptView,
  /** The job's directory, from the top of the tree; empty for the top. */
  directory,
  patch: z.base64().max(patchCharsMax),
});
export type CommitProof = z.infer<typeof commitProof>;

/** Null if it is no proof. */
export function readProof(text: string): CommitProof | null {
  const parsed = commitProof.safeParse(tryParseJson(text));
  return parsed.success ? parsed.data : null;
}

const ordered = z.object({
  output_location: z.object({ folder_id: z.string(), prefix: z.string().optional() }),
});

/**
 * The only file of a job that is its diff: a file that the agent has changed may have the same name at its end. Null if the
 * document does not say where the job's files are.
 */
export function diffFileOf(document: string | null): { folder_id: string; object_key: string } | null {
  const parsed = ordered.safeParse(tryParseJson(document ?? ""));
  if (!parsed.success) return null;
  const { folder_id, prefix = "" } = parsed.data.output_location;
  const above = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
  return { folder_id, object_key: `${above}${diffPath}` };
}

/** A message with the trailer in its last paragraph. */
export function withTrailer(message: string, jobId: string): string {
  const text = message.trim();
  const last = text.split(/\n\s*\n/).at(-1) ?? "";
  const hasTrailers =
    text.includes("\n\n") && last.split("\n").every((line) => /^[A-Za-z0-9-]+: /.test(line));
  return `${text}${hasTrailers ? "\n" : "\n\n"}${trailerName}: ${jobId}\n`;
}

/** The jobs that the last paragraph of a message names. */
export function jobsNamedIn(message: string): string[] {
  const last =
    message
      .trim()
      .split(/\n\s*\n/)
      .at(-1) ?? "";
  return last
    .split("\n")
    .flatMap((line) => new RegExp(`^${trailerName}: (\\S+)$`, "i").exec(line)?.[1] ?? []);
}
