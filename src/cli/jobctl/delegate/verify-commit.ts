import { createHash } from "node:crypto";
import { WritError } from "../../../core/errors.ts";
import { type BundleStep, verifyBundle } from "../../../signing/bundle/verify-bundle.ts";
import type { CliContext } from "../../context.ts";
import { type CommitProof, diffFileOf, jobsNamedIn, notesRef, readProof } from "./commit-proof.ts";
import { askGit, runGit } from "./run-git.ts";
import { asWritten, patchedTree } from "./scratch-index.ts";

type Keys = Parameters<typeof verifyBundle>[0]["keys"];
type Commit = { id: string; tree: string; parents: string[]; message: string };

/** A note holds a whole diff as text. */
const noteBytesMax = 400 * 1024 * 1024;

/**
 * Checks that a commit is its parent and the diff that a worker has signed, and nothing else. Needs no hub: the proof is in a
 * note of git, and counts only with keys that the caller trusts. Why: ADR 0133.
 */
export async function verifyCommit(
  context: CliContext,
  { dir, revision, keys }: { dir: string; revision: string; keys: Keys },
): Promise<BundleStep[]> {
  const commit = await readCommit(context, dir, revision);
  const note = await runGit(context, dir, ["notes", `--ref=${notesRef}`, "show", commit.id], {
    answerBytesMax: noteBytesMax,
  });
  if (note.code !== 0) {
    const says = `${commit.id.slice(0, 12)} carries no proof; fetch the notes with git fetch REMOTE ${notesRef}:${notesRef}`;
    return [{ step: "note", isFine: false, says }];
  }
  const proof = readProof(note.stdout);
  if (proof === null)
    return [{ step: "note", isFine: false, says: "what it carries is no proof of this version" }];
  const steps = await verifyBundle({ bundle: proof.bundle, keys, outputs: {} });
  // The output of the job is not part of this proof.
  const chain = steps.filter(({ step }) => chained.has(step));
  return [
    ...chain,
    checkTrailer(commit, proof),
    checkPatch(proof),
    await checkTree(context, dir, commit, proof),
  ];
}

const chained = new Set(["hub key", "document", "grant", "receipt", "result"]);

async function readCommit(context: CliContext, dir: string, revision: string): Promise<Commit> {
  const env = asWritten;
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`];
  const { code, stdout } = await runGit(context, dir, args, { env });
  if (code !== 0)
    throw new WritError("NOT_FOUND", `--commit: there is no commit ${revision} here`, {
      advice: "run it in the repository, and fetch what is missing",
    });
  const id = stdout.trim();
  const text = await askGit(context, dir, ["cat-file", "commit", id], { env, answerBytesMax: noteBytesMax });
  const end = text.indexOf("\n\n");
  const head = (end === -1 ? text : text.slice(0, end)).split("\n");
  const named = (name: string) =>
    head.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  const message = end === -1 ? "" : text.slice(end + 2);
  return { id, tree: named("tree")[0] ?? "", parents: named("parent"), message };
}

function checkTrailer({ message }: Commit, { bundle }: CommitProof): BundleStep {
  const jobs = jobsNamedIn(message);
  const isFine = jobs.length === 1 && jobs[0] === bundle.job_id;
  const named = jobs.length === 0 ? "names no job" : `names ${jobs.join(", ")}`;
  const says = isFine
    ? `the commit names job ${bundle.job_id}`
    : `the commit ${named}; the proof is of ${bundle.job_id}`;
  return { step: "trailer", isFine, says };
}

/** The signed receipt must name this diff as the job's diff, and as no other of its files. */
function checkPatch({ bundle, patch }: CommitProof): BundleStep {
  const step = "diff";
  const place = diffFileOf(bundle.document);
  if (place === null)
    return {
      step,
      isFine: false,
      says: "the proof lacks the document, which says which of the job's files is its diff",
    };
  const sha256 = createHash("sha256").update(Buffer.from(patch, "base64")).digest("hex");
  const isFine = filesIn(bundle.receipt).some(
    (file) =>
      file.folder_id === place.folder_id && file.object_key === place.object_key && file.sha256 === sha256,
  );
  const says = isFine
    ? `the receipt names it (SHA-256 ${sha256})`
    : "it is not the one that the receipt names";
  return { step, isFine, says };
}

type NamedFile = { folder_id?: unknown; object_key?: unknown; sha256?: unknown };

/** The receipt is untrusted until its own step has checked it, and may be anything. */
function filesIn(receipt: string): NamedFile[] {
  try {
    const { output_files: files } = JSON.parse(receipt) as { output_files?: unknown };
    return Array.isArray(files) ? files.filter((file) => typeof file === "object" && file !== null) : [];
  } catch {
    // The step of the receipt says what is wrong with it.
    return [];
  }
}

async function checkTree(
  context: CliContext,
  dir: string,
  { tree, parents }: Commit,
  { patch, directory }: CommitProof,
): Promise<BundleStep> {
  const step = "tree";
  const [parent, second] = parents;
  if (parent === undefined || second !== undefined)
    return { step, isFine: false, says: `the commit has ${parents.length} parents, and must have one` };
  const top = await askGit(context, dir, ["rev-parse", "--show-toplevel"]);
  try {
    const given = { base: parent, patch: Buffer.from(patch, "base64"), directory, isKept: false };
    const isFine = (await patchedTree(context, top, given)) === tree;
    const where = directory === "" ? "" : ` below ${directory}`;
    const says = isFine
      ? `is that of its parent ${parent.slice(0, 12)} with the diff${where}, and nothing else`
      : `is not that of its parent ${parent.slice(0, 12)} with the diff${where}`;
    return { step, isFine, says };
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    return { step, isFine: false, says: error.message };
  }
}
