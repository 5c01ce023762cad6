import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import { type Job, type Writ, WritError } from "../../../client/index.ts";
import { keyView, receiptView } from "../../../contract/shapes/trust-view-shapes.ts";
import { writePrivateFile } from "../../../runtime/files/private-file.ts";
import {
  type BundleStep,
  type ReceiptBundle,
  readPublicKeys,
  verifyBundle,
} from "../../../signing/bundle/verify-bundle.ts";
import { withWrit } from "../../connection/connection.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { collect } from "../../program.ts";
import { print } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { neutraliseLine, paintFor } from "../../terminal/terminal.ts";
import { type Copies, type CopyFlags, hashCopies, unreadable } from "./hash-copies.ts";

type Flags = CopyFlags & {
  bundle?: string;
  commit?: string;
  export?: string;
  keys?: string;
  complete?: boolean;
};
type Keys = Parameters<typeof verifyBundle>[0]["keys"];

const gone: ReadonlySet<string> = new Set(["OUTPUT_REMOVED", "NOT_FOUND"]);

/** What `--export` writes: the receipt with its signatures, and the hub's keys at that time. */
const bundleFile = receiptView.extend({
  format: z.literal("writ receipt bundle 1"),
  keys: z.array(keyView.extend({ status: z.enum(["active", "retiring", "retired", "revoked"]) })),
});

export const keysHelp =
  "trust only the hub keys in this PEM file, as written by `writ keys export` (default: those in the hub's home)";

export function define(command: Command, context: CliContext): void {
  command
    .argument("[id]", jobIdHelp)
    .option(
      "--bundle <file>",
      "check this exported bundle instead; needs no hub, but a key of it that you trust",
    )
    .option(
      "--commit <rev>",
      "check a commit of `jobctl apply --commit` in this repository instead; needs no hub, like --bundle",
    )
    .option("--keys <file>", keysHelp)
    .option("--stdout <file>", "compare a copy of the standard output with the receipt")
    .option("--stderr <file>", "compare a copy of the standard error with the receipt")
    .option(
      "--artifact <key=file>",
      "compare a copy of an output file with the receipt; may be repeated",
      collect,
    )
    .option("--export <file>", "also write a bundle that --bundle can check on another machine")
    .addHelpText(
      "after",
      "\nThe hub signs document and grant with its current key when it is asked for them, also for an old job. The worker's receipt\nis from the time of the job. For proof that outlasts a rotation, keep a bundle (--export) and the keys of that time.",
    )
    .option("--complete", "also exit with 1 if a part cannot be checked, such as output that was removed")
    .action(async (id: string | undefined, flags: Flags) => {
      if ([id, flags.bundle, flags.commit].filter((given) => given !== undefined).length !== 1) {
        throw new WritError("INVALID_ARGUMENT", "give either a job id, --bundle FILE or --commit REV");
      }
      if (flags.commit !== undefined) {
        const steps = await verifyRevision(context, command, { revision: flags.commit, flags });
        return showSteps(context, command, steps);
      }
      const copies = await hashCopies(context.cwd, flags);
      const steps =
        flags.bundle === undefined
          ? await withWrit(context, command, (writ) => verifyJob(writ, { context, id: id!, flags, copies }))
          : await verifyFile(context, command, { bundle: flags.bundle, flags, copies });
      showSteps(context, command, steps);
      if (flags.complete === true && steps.some(({ isFine }) => isFine === null)) context.exitCode = 1;
    });
}

/** One line for each step; the exit code is 1 if one of them is broken. */
export function showSteps(context: CliContext, command: Command, steps: readonly BundleStep[]): void {
  for (const step of steps) print(context, command, shown(step), () => showStep(context, step));
  if (steps.some(({ isFine }) => isFine === false)) context.exitCode = 1;
}

type VerifyInput = { flags: Flags; copies: Copies };

export async function verifyJob(
  writ: Writ,
  { context, id, flags, copies }: VerifyInput & { context: CliContext; id: string },
): Promise<BundleStep[]> {
  const jobId = await resolveJobId(writ, id);
  const bundle = await writ.receipt(jobId);
  const hubKeys = await writ.keys();
  if (flags.export !== undefined) {
    const file = { format: "writ receipt bundle 1", ...bundle, keys: hubKeys };
    await writePrivateFile(resolve(context.cwd, flags.export), `${JSON.stringify(file, null, 2)}\n`);
  }
  const signal = context.stops.requested;
  const wanted = { attempt: bundle.attempt, follow: false, signal };
  const job = await findShown(writ, jobId);
  const outputs = {
    stdout: copies.stdout ?? (await hashOutput(writ, jobId, { ...wanted, stream: "stdout" })),
    stderr: copies.stderr ?? (await hashOutput(writ, jobId, { ...wanted, stream: "stderr" })),
    files: job?.output_files,
  };
  return verifyBundle({
    bundle,
    job,
    outputs,
    artifacts: copies.artifacts,
    keys: (await givenKeys(context, flags)) ?? (hubKeys as unknown as Keys),
  });
}

/** Undefined when the hub has removed the output, or the whole job; everything else can still be checked. */
async function hashOutput(
  writ: Writ,
  jobId: string,
  wanted: Parameters<Writ["streamOutput"]>[1],
): Promise<string | undefined> {
  const made = createHash("sha256");
  try {
    for await (const chunk of writ.streamOutput(jobId, wanted)) made.update(chunk);
  } catch (error) {
    if (error instanceof WritError && gone.has(error.code)) return undefined;
    throw error;
  }
  return made.digest("hex");
}

/** Undefined when the job itself is gone. */
async function findShown(writ: Writ, jobId: string): Promise<Job | undefined> {
  try {
    return await writ.get(jobId);
  } catch (error) {
    if (error instanceof WritError && gone.has(error.code)) return undefined;
    throw error;
  }
}

async function verifyFile(
  context: CliContext,
  command: Command,
  { bundle: path, flags, copies }: VerifyInput & { bundle: string },
): Promise<BundleStep[]> {
  const parsed = bundleFile.safeParse(await readJsonFile(resolve(context.cwd, path)));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new WritError(
      "INVALID_DOCUMENT",
      `--bundle ${path}: not a receipt bundle (${issue?.path.join(".")} ${issue?.message})`,
    );
  }
  // Somebody who forges a bundle also chooses the keys in it.
  const { keys: _untrusted, ...bundle } = parsed.data;
  const keys = (await givenKeys(context, flags)) ?? (await homeKeys(context, command));
  if (keys.length === 0) return [noTrustedKey];
  const { artifacts, ...outputs } = copies;
  return verifyBundle({ bundle: bundle satisfies ReceiptBundle, keys, outputs, artifacts });
}

async function verifyRevision(
  context: CliContext,
  command: Command,
  { revision, flags }: { revision: string; flags: Flags },
): Promise<BundleStep[]> {
  const keys = (await givenKeys(context, flags)) ?? (await homeKeys(context, command));
  if (keys.length === 0) return [noTrustedKey];
  const { verifyCommit } = await import("../delegate/verify-commit.ts");
  return verifyCommit(context, { dir: context.cwd, revision, keys });
}

const noTrustedKey: BundleStep = {
  step: "hub key",
  isFine: false,
  says:
    "not verified: no trusted key. The keys inside a bundle prove nothing; give --keys FILE with the hub's keys, as written by " +
    "`writ keys export`, or the hub's home with --home",
};

/** Those of `--keys`; undefined without it. */
async function givenKeys(context: CliContext, flags: Flags): Promise<Keys | undefined> {
  if (flags.keys === undefined) return undefined;
  const keys = readPublicKeys(await readText(resolve(context.cwd, flags.keys)));
  if (keys.length === 0)
    throw new WritError("KEY_REJECTED", `--keys ${flags.keys}: the file holds no public key`);
  return keys;
}

/** Those of the hub whose home this is; none on a machine that has never seen it. */
async function homeKeys(context: CliContext, command: Command): Promise<Keys> {
  const { readHomeKeys } = await import("../../../hub/admin.ts");
  return readHomeKeys({ home: findHome(context, command), env: context.env });
}

async function readJsonFile(path: string): Promise<unknown> {
  const text = await readText(path);
  try {
    return JSON.parse(text);
  } catch {
    throw new WritError("INVALID_JSON", `${path} is not valid JSON`);
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw unreadable(path, error);
  }
}

function shown({ step, isFine, says }: BundleStep) {
  return { step, state: stateOf(isFine), says };
}

function stateOf(isFine: boolean | null): "ok" | "broken" | "unknown" {
  if (isFine === null) return "unknown";
  return isFine ? "ok" : "broken";
}

function showStep(context: CliContext, { step, isFine, says }: BundleStep): string {
  const paint = paintFor(context.stdout, context.env);
  const state = stateOf(isFine);
  const colour = { ok: paint.green, unknown: paint.yellow, broken: paint.red }[state];
  return `${colour(state.padEnd(7))}  ${step.padEnd(8)}  ${neutraliseLine(says)}\n`;
}
