import { realpath } from "node:fs/promises";
import { relative, resolve } from "node:path";
import type { Command } from "commander";
import type { Job, Writ } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import { cutText } from "../../../core/text/cut-text.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { confirm, yesOption } from "../../terminal/confirm.ts";
import { print } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId, shortId } from "../../terminal/short-id.ts";
import { showName } from "../../terminal/terminal.ts";
import { keysHelp, verifyJob } from "../trust/verify.ts";
import { type AppliedFile, applyPatch, checkPatch, findTree, type Tree } from "./apply-patch.ts";
import { commitJob, planCommit } from "./commit-job.ts";
import { type DelegateResult, delegateResult, refuseOtherKinds } from "./delegate-result.ts";
import { statText } from "./diff.ts";
import { diffStat } from "./diff-stat.ts";
import { type FetchedDiff, fetchDiff, findDiff } from "./fetch-diff.ts";

type ApplyFlags = { repo?: string; yes?: boolean; keys?: string; commit?: boolean; message?: string };

export function define(command: Command, context: CliContext): void {
  command
    .argument("<id>", jobIdHelp)
    .option(
      "--repo <dir>",
      "where to apply it (default: the job's repository if you are in it, else this directory)",
    )
    .option("--keys <file>", keysHelp)
    .option(
      "--commit",
      "also commit exactly the diff, with the proof in a note that `jobctl verify --commit` checks",
    )
    .option("--message <text>", "the message of the commit (default: the first line of the task)")
    .option(...yesOption)
    .addHelpText(
      "after",
      "\nThe diff is checked against the receipt that the worker has signed, and against the files: either all of it is applied\nor nothing. Without --commit nothing is staged or committed; `git diff` shows it, and `git apply -R` with the same diff takes it back.",
    )
    .action((id: string, flags: ApplyFlags) =>
      withWrit(context, command, (writ) => apply(writ, { context, command, id, flags })),
    );
}

type ApplyInput = { context: CliContext; command: Command; id: string; flags: ApplyFlags };

async function apply(writ: Writ, { context, command, id, flags }: ApplyInput): Promise<void> {
  const jobId = await resolveJobId(writ, id);
  const job = await writ.get(jobId);
  const result = await applicable(writ, job);
  const diff = await fetchDiff(writ, jobId, context.stops.requested);
  if (diff === undefined) throw nothingToApply(jobId);
  await refuseUnproven(writ, { context, jobId, flags, diff });
  const tree = await findTree(context, await chooseRepo(context, flags.repo, await repoOf(writ, jobId)));
  await checkPatch(context, tree, diff.bytes);
  const paths = result.changed.map(({ path }) => path);
  const plan = flags.commit ? await planCommit(context, tree, { patch: diff.bytes, paths }) : undefined;
  context.stderr.write(statText(context, diffStat(diff.bytes.toString("utf8"))));
  const question = `Apply this to ${showName(tree.dir)}?`;
  if (!(await confirm(context, { question, yes: flags.yes }))) return;
  const files = await applyPatch(context, tree, { patch: diff.bytes, changed: result.changed });
  const commit =
    plan &&
    (await commitJob(context, tree, {
      ...plan,
      jobId,
      patch: diff.bytes,
      bundle: await writ.receipt(jobId),
      paths,
      message: flags.message ?? titleOf(job),
    }));
  const done = { job_id: jobId, repo: tree.dir, files, ...(commit && { commit }) };
  print(context, command, done, () => `${applied(tree, files)}${committed(commit)}`);
}

const titleCharsMax = 72;

function titleOf({ id, run }: Job): string {
  const prompt = run?.kind === "delegate" && typeof run.prompt === "string" ? run.prompt : "";
  const [line = ""] = prompt.trim().split("\n");
  return line === "" || line === "***" ? `Apply job ${id}` : cutText(line, titleCharsMax);
}

function committed(commit: string | undefined): string {
  return commit === undefined
    ? ""
    : `committed as ${commit.slice(0, 12)}; \`jobctl verify --commit HEAD\` proves it\n`;
}

async function applicable(writ: Writ, job: Job): Promise<DelegateResult> {
  refuseOtherKinds(job);
  const { id, run, status, attempts, started_at } = job;
  const result = delegateResult(job);
  const hasRun = isEnded(status) && (attempts > 0 || started_at !== null);
  const mode = result?.mode ?? (run?.kind === "delegate" ? run.mode : undefined);
  if (hasRun && mode === "in-place") throw await workedInPlace(writ, job);
  if (status !== "completed") throw await notCompleted(writ, job);
  if (result === undefined || result.changed.length === 0) throw nothingToApply(id);
  return result;
}

/** Its changes are not offered: they are where it has worked, or were put back. */
async function workedInPlace(writ: Writ, job: Job): Promise<WritError> {
  const { id } = job;
  if (delegateResult(job)?.changed.length === 0) return nothingToApply(id);
  const repo = await repoOf(writ, id);
  const where = repo === undefined ? "" : `, ${showName(repo)}`;
  const what = delegateResult(job) === undefined ? "what it has left is there" : "its changes are there";
  const message = `job ${id} has worked in the repository itself${where}; ${what}`;
  const see =
    (await findDiff(writ, id)) === undefined ? "`git status` there" : `\`jobctl diff ${shortId(id)}\``;
  return new WritError("STATE_CONFLICT", message, { advice: `${see} shows them` });
}

async function notCompleted(writ: Writ, { id, status, fail_code }: Job): Promise<WritError> {
  const failed = fail_code === "CANCELLED" ? "was cancelled" : `has failed (${fail_code})`;
  const is = fail_code === null ? `is ${status}` : failed;
  if (isEnded(status) && (await findDiff(writ, id)) === undefined)
    return new WritError("STATE_CONFLICT", `job ${id} ${is} and has left no changes`, { advice: "" });
  const message = `job ${id} ${is}, so its changes are not applied`;
  if (!isEnded(status)) return new WritError("STATE_CONFLICT", message);
  const advice = `if you want them all the same: jobctl diff ${shortId(id)} | git apply`;
  return new WritError("STATE_CONFLICT", message, { advice });
}

function nothingToApply(id: string): WritError {
  return new WritError("STATE_CONFLICT", `job ${id} has changed nothing, so there is nothing to apply`, {
    advice: "",
  });
}

/** The diff must be the one that the worker has signed for, and everything else in the receipt must hold too. */
async function refuseUnproven(
  writ: Writ,
  {
    context,
    jobId,
    flags,
    diff,
  }: { context: CliContext; jobId: string; flags: ApplyFlags; diff: FetchedDiff },
): Promise<void> {
  const artifacts = new Map([[diff.artifact.object_key, diff.sha256]]);
  const copies = { stdout: undefined, stderr: undefined, artifacts };
  const keys = flags.keys === undefined ? {} : { keys: flags.keys };
  const steps = await verifyJob(writ, { context, id: jobId, flags: keys, copies });
  const broken = steps.find(({ isFine }) => isFine === false);
  if (broken === undefined) return;
  throw new WritError("CHECKSUM_MISMATCH", `the diff is not applied: ${broken.step}: ${broken.says}`, {
    advice: `\`jobctl verify ${shortId(jobId)}\` shows every step`,
  });
}

/** Only the document says where the job has worked. */
async function repoOf(writ: Writ, jobId: string): Promise<string | undefined> {
  const { document } = await writ.receipt(jobId).catch(noReceipt);
  const { repo_root } = JSON.parse(document ?? "{}") as { repo_root?: unknown };
  return typeof repo_root === "string" ? repo_root : undefined;
}

/** A job that was cancelled before it ran has no receipt. */
function noReceipt(error: unknown): { document: null } {
  if (error instanceof WritError && error.code === "NOT_FOUND") return { document: null };
  throw error;
}

/** The job's own repository for somebody who stands in it. */
async function chooseRepo(
  { cwd }: CliContext,
  given: string | undefined,
  repoRoot: string | undefined,
): Promise<string> {
  if (given !== undefined) return resolve(cwd, given);
  const here = await realpath(cwd);
  if (repoRoot === undefined) return here;
  const below = relative(repoRoot, here);
  return below === "" || !below.startsWith("..") ? repoRoot : here;
}

function applied({ dir }: Tree, files: readonly AppliedFile[]): string {
  const merged = files.filter(({ state }) => state === "merged").map(({ path }) => showName(path));
  const count = files.length === 1 ? "1 file was" : `${files.length} files were`;
  const note = merged.length === 0 ? "" : `; changed here too, and now with both: ${merged.join(", ")}`;
  return `${count} changed in ${showName(dir)}${note}\n`;
}
