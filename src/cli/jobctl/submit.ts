import { type Command, Option } from "commander";
import type { Accepted, JobInput, RpcJob, Writ } from "../../client/index.ts";
import { jobOfView } from "../../client/job-of-view.ts";
import { WritError } from "../../core/errors.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { parseDuration, parseMoment } from "../duration.ts";
import { wantsJson } from "../print.ts";
import { collect, parsed, wholeNumber } from "../program.ts";
import { safeJson } from "../terminal.ts";
import { commandKinds, describeRun, type RunFlags } from "./describe-run.ts";
import {
  addFileOptions,
  addOutputOption,
  collectedBy,
  type FileFlags,
  uploadInputs,
} from "./file-options.ts";
import { addCwdOption, addEnvOption, addLimitOptions, type LimitFlags, limitsOf } from "./process-options.ts";
import { readJson } from "./read-json.ts";
import { saveArtifacts } from "./save-artifacts.ts";
import { watchJob } from "./watch-job.ts";

type SubmitFlags = RunFlags &
  LimitFlags &
  FileFlags & {
    params?: string;
    priority?: number;
    attempts?: number;
    timeout?: number;
    runAt?: number;
    idempotencyKey?: string;
    tag?: string[];
    wait?: boolean;
  };

const noLimit = { cpu: "no limit", memory: "no limit", io: "high" };

export function define(command: Command, context: CliContext): void {
  command
    .argument("<type>", "the type of the job, such as image.resize; workers are matched by it")
    .argument("[command...]", "the command to run, after --exec or --kind, and --")
    .option("--params <json>", "parameters as JSON, @FILE to read a file, or - to read standard input")
    .option("--priority <n>", "1 (lowest) to 10 (highest) (default: 5)", wholeNumber(1, 10))
    .option(
      "--attempts <n>",
      "number of attempts before the job counts as failed (default: 3)",
      wholeNumber(1, 100),
    )
    .option(
      "--timeout <time>",
      "stop each attempt after this time, such as 30s, 10m or 1h (default: 5m)",
      parsed(parseDuration, "a time such as 30s, 10m or 1h"),
    )
    .option(
      "--run-at <time>",
      "do not start before this date and time, or this long from now (+10m)",
      parsed(
        (text) => parseMoment(text, Date.now()),
        "a date and time such as 2030-01-31T08:00:00Z, or +10m",
      ),
    )
    .option(
      "--idempotency-key <key>",
      "submitting again with the same key returns the first job instead of a second one",
    )
    .option("--tag <tag>", "run only on workers with this tag; may be repeated", collect)
    .option("--exec", "run a command: submit TYPE --exec -- COMMAND [ARGS...]")
    .addOption(new Option("--kind <kind>", "how to run the command; --exec means exec").choices(commandKinds))
    .option("--port <n>", "with persistent_http: the port that the worker listens on", wholeNumber(1, 65_535))
    .option(
      "--input-json <json>",
      "with exec_per_job and persistent_http: the input as JSON, @FILE to read a file, or - to read standard input",
    )
    .option("--secret <name>", "a secret that the worker has, for the command; may be repeated", collect)
    .option(
      "--container <name>",
      "with exec_per_job and persistent_http: run it in this container of a worker",
    )
    .option("--solver-url <url>", "download the program from here and run it with --params")
    .option("--solver-checksum <sha256>", "the SHA-256 of that program; required with --solver-url")
    .option("--wait", "wait until the job has ended; exit with 1 if it did not complete");
  addCwdOption(addEnvOption(addLimitOptions(command, noLimit)));
  addOutputOption(addFileOptions(command)).action((type: string, words: string[], flags: SubmitFlags) => {
    if (flags.output !== undefined && !flags.wait)
      throw new WritError(
        "INVALID_ARGUMENT",
        "--output: needs --wait, because the files come when the job has ended",
      );
    return withWrit(context, command, (writ) => submit(writ, { context, command, type, words, flags }));
  });
}

type SubmitInput = {
  context: CliContext;
  command: Command;
  type: string;
  words: string[];
  flags: SubmitFlags;
};

async function submit(writ: Writ, { context, command, type, words, flags }: SubmitInput): Promise<void> {
  const job = await describeJob(context, writ, { type, words, flags });
  const accepted = await writ.submit(job);
  if (flags.wait) await waitAndSave(writ, { context, command, id: accepted.id, output: flags.output });
  else if (wantsJson(command)) context.stdout.write(`${safeJson(await stateOf(writ, accepted))}\n`);
  else context.stdout.write(`${accepted.id}\n`);
}

async function waitAndSave(
  writ: Writ,
  { output, ...job }: { context: CliContext; command: Command; id: string; output: string | undefined },
): Promise<void> {
  await watchJob(writ, job);
  if (output !== undefined) await saveArtifacts(job.context, writ.files, { jobId: job.id, dir: output });
}

/** A job that was submitted before with the same key may be in any state. */
async function stateOf(writ: Writ, { id, status }: Accepted): Promise<Pick<RpcJob, "job_id" | "state">> {
  const state = status === "pending" ? "QUEUED" : jobOfView(await writ.get(id)).state;
  return { job_id: id, state };
}

async function describeJob(
  context: CliContext,
  writ: Writ,
  { type, words, flags }: Omit<SubmitInput, "context" | "command">,
): Promise<JobInput> {
  const run = await describeRun(context, words, flags);
  const params = flags.params === undefined ? undefined : await readJson(context, "--params", flags.params);
  // Last, because it may take long: what is wrong with the other flags has been said by then.
  const files = { inputs: await uploadInputs(context, writ.files, flags), collect: collectedBy(flags) };
  const hasFiles = files.inputs !== undefined || files.collect !== undefined;
  const limits = limitsOf(flags);
  return {
    type,
    run: hasFiles ? { ...(run ?? { kind: "handler" }), ...files } : run,
    params,
    limits: Object.values(limits).every((limit) => limit === undefined) ? undefined : limits,
    priority: flags.priority,
    max_attempts: flags.attempts,
    ...describeTimeout(flags.timeout),
    run_at: flags.runAt,
    idempotency_key: flags.idempotencyKey,
    requires: flags.tag === undefined ? undefined : { tags: flags.tag },
  };
}

function describeTimeout(ms: number | undefined): Pick<JobInput, "timeout_sec" | "max_runtime_ms"> {
  if (ms === undefined) return {};
  return ms % 1000 === 0 ? { timeout_sec: ms / 1000 } : { max_runtime_ms: ms };
}
