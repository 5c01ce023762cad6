import { relative } from "node:path";
import type { ReceiptView } from "../../../contract/shapes/trust-view-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { showName } from "../../terminal/terminal.ts";
import type { Tree } from "./apply-patch.ts";
import { type CommitProof, notesRef, withTrailer } from "./commit-proof.ts";
import { askGit, runGit } from "./run-git.ts";
import { patchedTree } from "./scratch-index.ts";

type Commit = {
  jobId: string;
  patch: Buffer;
  bundle: ReceiptView;
  paths: readonly string[];
  message: string;
};

/** What is made before anything changes: the tree of the commit, and the commit that it follows. */
type PlannedCommit = { tree: string; parent: string };

/** Throws if the diff cannot be committed: it has to fit the newest commit, and nothing of it may be staged differently. */
export async function planCommit(
  context: CliContext,
  { dir, top }: Tree,
  { patch, paths }: Pick<Commit, "patch" | "paths">,
): Promise<PlannedCommit> {
  const head = await runGit(context, top, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
  if (head.code !== 0)
    throw new WritError("STATE_CONFLICT", `--commit: ${showName(top)} is no repository with a commit`);
  const parent = head.stdout.trim();
  const directory = relative(top, dir);
  const staged = await runGit(context, top, [
    "diff",
    "--cached",
    "--quiet",
    "--",
    ...inTop(directory, paths),
  ]);
  if (staged.code !== 0)
    throw new WritError(
      "STATE_CONFLICT",
      "--commit: files of the diff have staged changes; commit or unstage them first",
    );
  return { parent, tree: await patchedTree(context, top, { base: parent, patch, directory, isKept: true }) };
}

/**
 * Commits exactly the diff, whatever else the files have, with the trailer and the proof in a note. No hook runs. The files
 * have been changed already. Why: ADR 0133.
 */
export async function commitJob(
  context: CliContext,
  { dir, top }: Tree,
  { tree, parent, jobId, patch, bundle, paths, message }: Commit & PlannedCommit,
): Promise<string> {
  const text = Buffer.from(withTrailer(message, jobId));
  const commit = await askGit(context, top, ["commit-tree", tree, "-p", parent, "-F", "-"], { input: text });
  const directory = relative(top, dir);
  const proof: CommitProof = {
    format: "writ commit proof 1",
    bundle,
    directory,
    patch: patch.toString("base64"),
  };
  const note = Buffer.from(`${JSON.stringify(proof)}\n`);
  const blob = await askGit(context, top, ["hash-object", "-w", "--stdin"], { input: note });
  await askGit(context, top, ["notes", `--ref=${notesRef}`, "add", "-f", "-C", blob, commit]);
  // Refused if somebody has committed meanwhile.
  await askGit(context, top, ["update-ref", "-m", `jobctl apply ${jobId}`, "HEAD", commit, parent]);
  await askGit(context, top, ["reset", "-q", "--", ...inTop(directory, paths)]);
  return commit;
}

/** As git's own names, in which no character stands for others. */
function inTop(directory: string, paths: readonly string[]): string[] {
  return paths.map((path) => `:(top,literal)${directory === "" ? path : `${directory}/${path}`}`);
}
