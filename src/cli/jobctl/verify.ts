import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import { type Job, type Writ, WritError } from "../../client/index.ts";
import { keyView, receiptView } from "../../contract/view-shapes.ts";
import { codeOf } from "../../core/errors.ts";
import { writePrivateFile } from "../../runtime/private-file.ts";
import {
  type BundleStep,
  type ReceiptBundle,
  readPublicKeys,
  verifyBundle,
} from "../../signing/verify-bundle.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { collect } from "../program.ts";
import { jobIdHelp, resolveJobId } from "../short-id.ts";
import { neutraliseLine, paintFor } from "../terminal.ts";

type Flags = { bundle?: string; export?: string; keys?: string; artifact?: string[] };
type Keys = Parameters<typeof verifyBundle>[0]["keys"];

const gone: ReadonlySet<string> = new Set(["OUTPUT_REMOVED", "NOT_FOUND"]);

/** What `--export` writes: the receipt with its signatures, and the hub's keys at that time. */
const bundleFile = receiptView.extend({
  format: z.literal("writ receipt bundle 1"),
  keys: z.array(keyView.extend({ status: z.enum(["active", "retiring", "revoked"]) })),
});

export function define(command: Command, context: CliContext): void {
  command
    .argument("[id]", jobIdHelp)
    .option("--bundle <file>", "check this exported bundle instead; needs no hub")
    .option("--keys <file>", "trust only the hub keys in this PEM file, as written by `writ keys export`")
    .option(
      "--artifact <key=file>",
      "compare a copy of an output file with the receipt; may be repeated",
      collect,
    )
    .option("--export <file>", "also write a bundle that --bundle can check on another machine")
    .action(async (id: string | undefined, flags: Flags) => {
      if ((id === undefined) === (flags.bundle === undefined)) {
        throw new WritError("INVALID_ARGUMENT", "give either a job id or --bundle FILE");
      }
      const artifacts = await hashArtifacts(context, flags.artifact ?? []);
      const steps =
        flags.bundle === undefined
          ? await withWrit(context, command, (writ) =>
              verifyJob(writ, { context, id: id!, flags, artifacts }),
            )
          : await verifyFile(context, flags.bundle, { flags, artifacts });
      for (const step of steps) print(context, command, shown(step), () => showStep(context, step));
      if (steps.some(({ isFine }) => isFine === false)) context.exitCode = 1;
    });
}

type Given = { flags: Flags; artifacts: Map<string, string> };

async function verifyJob(
  writ: Writ,
  { context, id, flags, artifacts }: Given & { context: CliContext; id: string },
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
  const outputs = {
    stdout: await hashOutput(writ, jobId, { ...wanted, stream: "stdout" }),
    stderr: await hashOutput(writ, jobId, { ...wanted, stream: "stderr" }),
    files: await listFiles(writ, jobId),
  };
  return verifyBundle({
    bundle,
    outputs,
    artifacts,
    keys: await trustedKeys(context, flags, hubKeys as unknown as Keys),
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
async function listFiles(writ: Writ, jobId: string): Promise<Job["output_files"] | undefined> {
  try {
    return (await writ.get(jobId)).output_files;
  } catch (error) {
    if (error instanceof WritError && gone.has(error.code)) return undefined;
    throw error;
  }
}

async function verifyFile(
  context: CliContext,
  path: string,
  { flags, artifacts }: Given,
): Promise<BundleStep[]> {
  const parsed = bundleFile.safeParse(await readJsonFile(resolve(context.cwd, path)));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new WritError(
      "INVALID_DOCUMENT",
      `--bundle ${path}: not a receipt bundle (${issue?.path.join(".")} ${issue?.message})`,
    );
  }
  const { keys, ...bundle } = parsed.data;
  const steps = verifyBundle({
    bundle: bundle satisfies ReceiptBundle,
    artifacts,
    keys: await trustedKeys(context, flags, keys),
  });
  if (flags.keys !== undefined) return steps;
  const says = "checked with the keys inside the bundle; use --keys FILE to check with keys that you trust";
  return [{ step: "trust", isFine: null, says }, ...steps];
}

async function trustedKeys(context: CliContext, flags: Flags, fallback: Keys): Promise<Keys> {
  if (flags.keys === undefined) return fallback;
  const keys = readPublicKeys(await readText(resolve(context.cwd, flags.keys)));
  if (keys.length === 0)
    throw new WritError("KEY_REJECTED", `--keys ${flags.keys}: the file contains no public key`);
  return keys;
}

async function hashArtifacts(context: CliContext, given: readonly string[]): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for (const one of given) {
    // A key may hold an equals sign; the path on this machine is what the caller can choose.
    const at = one.lastIndexOf("=");
    if (at < 1 || at === one.length - 1) {
      throw new WritError(
        "INVALID_ARGUMENT",
        `--artifact: "${one}" is not KEY=FILE, such as report.pdf=./copy.pdf`,
      );
    }
    hashes.set(one.slice(0, at), await hashFile(resolve(context.cwd, one.slice(at + 1))));
  }
  return hashes;
}

async function hashFile(path: string): Promise<string> {
  const made = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) made.update(chunk as Buffer);
  } catch (error) {
    throw unreadable(path, error);
  }
  return made.digest("hex");
}

function unreadable(path: string, error: unknown): WritError {
  return new WritError("NOT_FOUND", `${path} cannot be read (${codeOf(error)})`);
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
