import type { Command } from "commander";
import type { Job, JobInput, Writ } from "../../../client/index.ts";
import type { JobDocument } from "../../../contract/document.ts";
import { WritError } from "../../../core/errors.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import { cutText } from "../../../core/text/cut-text.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { jobIdHelp, resolveJobId, shortId } from "../../terminal/short-id.ts";
import { rawHelp } from "../run/copy-output.ts";
import { checkPatch, findTree } from "./apply-patch.ts";
import { delegateResult, refuseOtherKinds } from "./delegate-result.ts";
import { type FetchedDiff, fetchDiff } from "./fetch-diff.ts";
import { readPrompt } from "./read-prompt.ts";
import { submitToAgent } from "./submit-to-agent.ts";

type ReplyFlags = { detach?: boolean; wait?: boolean; raw?: boolean };
type DelegateRun = Extract<JobDocument["run"], { kind: "delegate" }>;

/** Where the earlier diff is among the inputs of the job. */
const diffInput = "earlier.diff";
const answerCharsMax = 20_000;
const attemptsDefault = 3;

export function define(command: Command, context: CliContext): void {
  command
    .argument("<id>", jobIdHelp)
    .argument("<text>", "what the agent is to do now; @FILE reads it from a file, and - from standard input")
    .option("--wait", "wait until the job has ended without showing its output, and print its result")
    .option("--detach", "print the id of the new job and leave it running")
    .option("--raw", rawHelp)
    .addHelpText(
      "after",
      "\nThe new job begins with the repository as it is now and the earlier diff in it, and its own diff contains both. The agent begins\na new session, in which it is told the earlier task and answer. If the earlier diff no longer fits, it ends with 1.",
    )
    .action((id: string, text: string, flags: ReplyFlags) =>
      withWrit(context, command, (writ) => reply(writ, { context, command, id, text, flags })),
    );
}

type ReplyInput = { context: CliContext; command: Command; id: string; text: string; flags: ReplyFlags };

/** Why: ADR 0146. */
async function reply(writ: Writ, { context, command, id, text, flags }: ReplyInput): Promise<void> {
  const jobId = await resolveJobId(writ, id);
  const earlier = await writ.get(jobId);
  refuseUnfit(earlier);
  const document = await documentOf(writ, jobId);
  const { run } = document;
  if (run.kind !== "delegate") throw new Error(`job ${jobId} is of kind ${run.kind}`);
  const diff = await fetchDiff(writ, jobId, context.stops.requested);
  if (diff !== undefined) await checkFit(context, document.repo_root, diff);
  const prompt = promptOf(run, { earlier, text: await readPrompt(context, text) });
  const job = replyTo(earlier, { document, run, prompt, diff });
  const begins = diff === undefined ? "changed nothing" : "left its diff, with which this one begins";
  context.stderr.write(
    `${context.program}: job ${shortId(jobId)} ${begins}; the agent starts a new session, with the earlier task and answer\n`,
  );
  await submitToAgent(writ, { context, command, job, flags });
}

function refuseUnfit(job: Job): void {
  refuseOtherKinds(job);
  const { id, status } = job;
  if (!isEnded(status))
    throw new WritError("STATE_CONFLICT", `job ${id} is ${status}; a reply needs what it has left`, {
      advice: `wait for it with \`jobctl attach ${shortId(id)}\`, or stop it`,
    });
  if (delegateResult(job)?.mode === "in-place")
    throw new WritError(
      "STATE_CONFLICT",
      `job ${id} has worked in the repository itself, so its changes are there already`,
      { advice: "give the next task with `jobctl delegate --mode in-place`" },
    );
}

/** What was signed for the job: only the document has all of its fields. */
async function documentOf(writ: Writ, jobId: string): Promise<JobDocument> {
  const { document } = await writ.receipt(jobId);
  if (document !== null) return JSON.parse(document) as JobDocument;
  throw new WritError("NOT_FOUND", `the document of job ${jobId} is no longer stored`);
}

/** A repository on another machine is looked at by its worker. */
async function checkFit(context: CliContext, repoRoot: string | undefined, diff: FetchedDiff): Promise<void> {
  if (repoRoot === undefined) return;
  let tree: Awaited<ReturnType<typeof findTree>>;
  try {
    tree = await findTree(context, repoRoot);
  } catch (error) {
    if (error instanceof WritError && error.code === "INVALID_ARGUMENT") return;
    throw error;
  }
  await checkPatch(context, tree, diff.bytes);
}

function promptOf({ prompt }: DelegateRun, { earlier, text }: { earlier: Job; text: string }): string {
  const { result, partial_result } = earlier;
  const { answer } = ((result ?? partial_result) as { answer?: unknown } | null) ?? {};
  const said =
    answer === undefined || answer === null
      ? ""
      : typeof answer === "string"
        ? answer
        : JSON.stringify(answer);
  const told = said === "" ? "" : `\n\n## Your answer to it\n\n${cutText(said, answerCharsMax)}`;
  return `${text}\n\n## The task before\n\nYou had this task before. What you changed for it is already in the files.\n\n${prompt}${told}`;
}

type Reply = { document: JobDocument; run: DelegateRun; prompt: string; diff: FetchedDiff | undefined };

function replyTo({ id, max_attempts }: Job, { document, run, prompt, diff }: Reply): JobInput {
  const { type, provider, model, repo_root, allowed_paths, requires, limits, egress, priority } = document;
  const { inputs: _, apply: __, ...kept } = run;
  const input = diff && {
    inputs: [{ path: diffInput, ...placeOf(diff) }],
    apply: diffInput,
  };
  return {
    type,
    provider,
    model,
    repo_root,
    allowed_paths,
    requires,
    limits,
    egress,
    priority,
    timeout_sec: document.timeout_sec,
    // By default each class of failure has a limit of its own.
    ...(max_attempts === attemptsDefault ? {} : { max_attempts }),
    execution_location: document.execution_location,
    metadata: { reply_to: id },
    run: { ...kept, prompt, ...input },
  } as JobInput;
}

function placeOf({ artifact, sha256 }: FetchedDiff): {
  folder_id: string;
  object_key: string;
  sha256: string;
} {
  return { folder_id: artifact.folder_id, object_key: artifact.object_key, sha256 };
}
