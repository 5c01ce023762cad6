import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import { type Writ, WritError } from "../../client/index.ts";
import { keyView, receiptView } from "../../contract/view-shapes.ts";
import { writePrivateFile } from "../../runtime/home.ts";
import {
  type BundleStep,
  type ReceiptBundle,
  readPublicKeys,
  verifyBundle,
} from "../../signing/verify-bundle.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { jobIdHelp, resolveJobId } from "../short-id.ts";
import { neutraliseLine, paintFor } from "../terminal.ts";

type Flags = { bundle?: string; export?: string; keys?: string };
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
    .option("--export <file>", "also write a bundle that --bundle can check on another machine")
    .action(async (id: string | undefined, flags: Flags) => {
      if ((id === undefined) === (flags.bundle === undefined)) {
        throw new WritError("INVALID_ARGUMENT", "give either a job id or --bundle FILE");
      }
      const steps =
        flags.bundle === undefined
          ? await withWrit(context, command, (writ) => verifyJob(writ, { context, id: id!, flags }))
          : await verifyFile(context, flags.bundle, flags);
      for (const step of steps) print(context, command, shown(step), () => showStep(context, step));
      if (steps.some(({ isFine }) => isFine === false)) context.exitCode = 1;
    });
}

async function verifyJob(
  writ: Writ,
  { context, id, flags }: { context: CliContext; id: string; flags: Flags },
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
  };
  return verifyBundle({
    bundle,
    outputs,
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

async function verifyFile(context: CliContext, path: string, flags: Flags): Promise<BundleStep[]> {
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
    throw new WritError("KEY_REJECTED", `--keys ${flags.keys}: the file holds no public key`);
  return keys;
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
    throw new WritError("NOT_FOUND", `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
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
