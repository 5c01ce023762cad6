import { type Command, Option } from "commander";
import type { Accepted, JobInput, RpcJob, Writ } from "../../../client/index.ts";
import { statusOfView } from "../../../contract/job-status.ts";
import { WritError } from "../../../core/errors.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { collect, parsed, wholeNumber } from "../../program.ts";
import { parseDuration, parseMoment } from "../../terminal/duration.ts";
import { wantsJson } from "../../terminal/print.ts";
import { safeJson } from "../../terminal/terminal.ts";
import {
  addFileOptions,
  addOutputOption,
  collectedBy,
  type FileFlags,
  uploadInputs,
} from "../files/file-options.ts";
import { saveArtifacts } from "../files/save-artifacts.ts";
import {
  addCwdOption,
  addEgressOptions,
  addEnvOption,
  addLimitOptions,
  egressOf,
  type LimitFlags,
  limitsOf,
} from "../run/process-options.ts";
import { commandKinds, describeRun, type RunFlags } from "./describe-run.ts";
import { collectLane, laneHelp } from "./lane-option.ts";
import { readJobFile, readJson } from "./read-json.ts";
import { parseRetry, retryAllowed, retryHelp } from "./retry-option.ts";
import { parseUnique, uniqueAllowed, uniqueHelp } from "./unique-option.ts";
import { watchJob } from "./watch-job.ts";

type SubmitFlags = RunFlags &
  LimitFlags &
  FileFlags & {
    file?: string;
    params?: string;
    priority?: number;
    attempts?: number;
    retry?: JobInput["retry"];
    lane?: JobInput["lanes"];
    within?: number;
    label?: string[];
    unique?: JobInput["unique"];
    keep?: number;
    timeout?: number;
    runAt?: number;
    idempotencyKey?: string;
    traceparent?: string;
    tag?: string[];
    wait?: boolean;
  };

const noLimit = { cpu: "no limit", memory: "no limit", io: "high" };

export function define(command: Command, context: CliContext): void {
  command
    .argument(
      "[type]",
      "the type of the job, such as image.resize; workers are matched by it; required without --file",
    )
    .argument("[command...]", "the command to run, after --exec or --kind, and --");
  addRunOptions(addJobOptions(command)).option(
    "--wait",
    "wait until the job has ended, and print its result; the id goes to stderr; exit with 1 if it did not complete",
  );
  addCwdOption(addEnvOption(addEgressOptions(addLimitOptions(command, noLimit))));
  addOutputOption(addFileOptions(command)).action(
    (type: string | undefined, before: string[], flags: SubmitFlags) => {
      refuseIncomplete(type, flags);
      const words = [...before, ...(context.words ?? [])];
      return withWrit(context, command, (writ) => submit(writ, { context, command, type, words, flags }));
    },
  );
}

/** What the job is, and when and where it may run. */
function addJobOptions(command: Command): Command {
  return command
    .option(
      "--file <file>",
      "a job with any field of POST /jobs, as YAML or JSON, or - to read standard input; other options replace its fields",
    )
    .option("--params <json>", "parameters as JSON, @FILE to read a file, or - to read standard input")
    .option(
      "--priority <n>",
      "1 (lowest) to 10 (highest), or 0 for the default (default: 5)",
      wholeNumber(0, 10),
    )
    .option(
      "--attempts <n>",
      "number of attempts before the job counts as failed (default: 3)",
      wholeNumber(1, 100),
    )
    .option("--retry <policy>", retryHelp, parsed(parseRetry, retryAllowed))
    .option("--lane <lane>", laneHelp, collectLane)
    .option(
      "--timeout <time>",
      "stop each attempt after this time, such as 30s, 10m or 1h (default: 5m)",
      parsed(parseDuration, "a time such as 30s, 10m or 1h"),
    )
    .option(
      "--within <time>",
      "end the job as EXPIRED if it has not completed after this time, such as 2h, retries included",
      parsed(parseDuration, "a time such as 30s, 10m or 1h"),
    )
    .option("--label <label>", "a label by which the job is found and changed; may be repeated", collect)
    .option("--unique <key>", uniqueHelp, parsed(parseUnique, uniqueAllowed))
    .option(
      "--keep <time>",
      "delete the job with its result and output this long after its end, such as 12h; its receipt stays",
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
    .option(
      "--traceparent <context>",
      "the trace that the job belongs to, as a W3C trace context (default: that of TRACEPARENT)",
    )
    .option("--tag <tag>", "run only on workers with this tag; may be repeated", collect);
}

/** How it runs. */
function addRunOptions(command: Command): Command {
  return command
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
    .option("--solver-checksum <sha256>", "the SHA-256 of that program; required with --solver-url");
}

function refuseIncomplete(
  type: string | undefined,
  { file, params, inputJson, output, wait }: SubmitFlags,
): void {
  if (type === undefined && file === undefined)
    throw new WritError(
      "INVALID_ARGUMENT",
      "no type given; name one before --, as in `jobctl submit TYPE --exec -- COMMAND`, or give a job with --file",
    );
  if (file === "-" && (params === "-" || inputJson === "-"))
    throw new WritError("INVALID_ARGUMENT", "--file -: standard input can be read only once");
  if (output !== undefined && !wait)
    throw new WritError(
      "INVALID_ARGUMENT",
      "--output: needs --wait, because the files come when the job has ended",
    );
}

type SubmitInput = {
  context: CliContext;
  command: Command;
  type: string | undefined;
  words: string[];
  flags: SubmitFlags;
};

async function submit(writ: Writ, { context, command, type, words, flags }: SubmitInput): Promise<void> {
  const job = await describeJob(context, writ, { type, words, flags });
  const accepted = await writ.submit(job);
  if (accepted.duplicate) context.stderr.write("another job has this key and stands for it\n");
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
  const state = status === "pending" ? "QUEUED" : statusOfView(await writ.get(id)).state;
  return { job_id: id, state };
}

/** The job of --file, with what the flags say in place of its fields. */
async function describeJob(
  context: CliContext,
  writ: Writ,
  { type, words, flags }: Omit<SubmitInput, "context" | "command">,
): Promise<JobInput> {
  const file: Record<string, unknown> =
    flags.file === undefined ? {} : await readJobFile(context, flags.file);
  if (flags.timeout !== undefined) for (const name of ["timeout_sec", "max_runtime_ms"]) delete file[name];
  const run = (await describeRun(context, words, flags)) ?? file["run"];
  const limits = given(limitsOf(flags));
  const ofFlags = {
    type,
    params: flags.params === undefined ? undefined : await readJson(context, "--params", flags.params),
    limits: limits === undefined ? undefined : { ...(file["limits"] as object), ...limits },
    egress: egressOf(flags),
    priority: flags.priority,
    max_attempts: flags.attempts,
    retry: flags.retry,
    lanes: flags.lane,
    finish_within_sec: flags.within === undefined ? undefined : Math.ceil(flags.within / 1000),
    labels: flags.label,
    unique: flags.unique,
    keep_sec: flags.keep === undefined ? undefined : Math.ceil(flags.keep / 1000),
    ...describeTimeout(flags.timeout),
    run_at: flags.runAt,
    idempotency_key: flags.idempotencyKey,
    traceparent: flags.traceparent,
    requires: flags.tag === undefined ? undefined : { ...(file["requires"] as object), tags: flags.tag },
  };
  // Last, because it may take long: what is wrong with the other flags has been said by then.
  const files = given({
    inputs: await uploadInputs(context, writ.files, flags),
    collect: collectedBy(flags),
  });
  const whole = files === undefined ? run : { ...((run as object) ?? { kind: "handler" }), ...files };
  // What the file holds is checked by the hub, which names the field.
  return { ...file, ...given(ofFlags), ...given({ run: whole }) } as JobInput;
}

/** The members that have a value; undefined if none has. */
function given<T extends object>(members: T): Partial<T> | undefined {
  const known = Object.entries(members).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : (Object.fromEntries(known) as Partial<T>);
}

function describeTimeout(ms: number | undefined): Pick<JobInput, "timeout_sec" | "max_runtime_ms"> {
  if (ms === undefined) return {};
  return ms % 1000 === 0 ? { timeout_sec: ms / 1000 } : { max_runtime_ms: ms };
}
