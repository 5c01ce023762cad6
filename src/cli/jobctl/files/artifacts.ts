import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { Artifact, Writ } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import { formatBytes } from "../../../core/text/format-bytes.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { wantsJson } from "../../terminal/print.ts";
import { printRows } from "../../terminal/print-rows.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import type { Column } from "../../terminal/table.ts";
import { safeJson } from "../../terminal/terminal.ts";
import { hashFile } from "../trust/hash-copies.ts";
import { keysHelp, showSteps, verifyJob } from "../trust/verify.ts";
import { saveArtifacts } from "./save-artifacts.ts";

export function define(command: Command, context: CliContext): void {
  defineList(command.command("list"), context);
  defineGet(command.command("get"), context);
  defineVerify(command.command("verify"), context);
}

const pathsHelp = "only these files, by the path that `list` shows (default: all)";

function defineList(command: Command, context: CliContext): void {
  command
    .description("list the files that a job has left")
    .argument("<id>", jobIdHelp)
    .action((id: string) =>
      withWrit(context, command, async (writ) => {
        const rows = await writ.files.artifacts(await resolveJobId(writ, id));
        await printRows(context, command, { rows, columns, none: "the job has left no files" });
      }),
    );
}

const columns: Column<Artifact>[] = [
  { title: "PATH", cell: ({ path }) => path, minWidth: 12 },
  { title: "SIZE", cell: ({ size }) => formatBytes(size) },
  { title: "SHA-256", cell: ({ sha256 }) => sha256, minWidth: 12 },
  { title: "STATE", cell: ({ available }) => (available ? "stored" : "removed") },
];

function defineGet(command: Command, context: CliContext): void {
  command
    .description("save files of a job, and check that they are what the worker sent")
    .argument("<id>", jobIdHelp)
    .argument("[paths...]", pathsHelp)
    .option("--output <dir>", "the directory to save them in; it is made if need be", ".")
    .action((id: string, paths: string[], { output }: { output: string }) =>
      withWrit(context, command, async (writ) => {
        const jobId = await resolveJobId(writ, id);
        const files = chosen(await writ.files.artifacts(jobId), paths);
        const saved = await saveArtifacts(context, writ.files, { jobId, dir: output, files });
        if (!wantsJson(command)) return;
        const dir = resolve(context.cwd, output);
        for (const file of saved)
          context.stdout.write(`${safeJson({ ...file, saved_as: join(dir, file.path) })}\n`);
      }),
    );
}

function chosen(files: readonly Artifact[], paths: readonly string[]): Artifact[] {
  const unknown = paths.find((path) => !files.some((file) => file.path === path));
  if (unknown !== undefined) {
    throw new WritError("NOT_FOUND", `the job has no file ${JSON.stringify(unknown)}`, {
      advice: "`jobctl artifacts list ID` shows its files",
    });
  }
  const wanted = paths.length === 0 ? files : files.filter(({ path }) => paths.includes(path));
  const gone = wanted.find(({ available }) => !available);
  if (gone === undefined) return [...wanted];
  throw new WritError("NOT_FOUND", `${gone.path} is no longer stored`, {
    advice: "its size and SHA-256 are still in the job's receipt",
  });
}

type VerifyFlags = { dir?: string; keys?: string; home?: string };

function defineVerify(command: Command, context: CliContext): void {
  command
    .description("check that the files of a job, as stored or as saved, are those that its worker signed for")
    .argument("<id>", jobIdHelp)
    .argument("[paths...]", pathsHelp)
    .option("--dir <dir>", "check the copies in this directory instead of what is stored")
    .option("--keys <file>", keysHelp)
    .action((id: string, paths: string[]) =>
      withWrit(context, command, async (writ) => {
        const flags = command.optsWithGlobals<VerifyFlags>();
        const jobId = await resolveJobId(writ, id);
        const artifacts = await hashAll(context, writ, { jobId, paths, dir: flags.dir });
        const copies = { stdout: undefined, stderr: undefined, artifacts };
        showSteps(context, command, await verifyJob(writ, { context, id: jobId, flags, copies }));
      }),
    );
}

async function hashAll(
  context: CliContext,
  writ: Writ,
  { jobId, paths, dir }: { jobId: string; paths: string[]; dir: string | undefined },
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  const files = await writ.files.artifacts(jobId);
  const wanted = dir === undefined || paths.length > 0 ? chosen(files, paths) : files;
  for (const file of wanted) {
    const sha256 =
      dir === undefined
        ? (await writ.files.hashArtifact(jobId, file, { signal: context.stops.requested })).sha256
        : await hashFile(resolve(context.cwd, dir, file.path));
    hashes.set(file.object_key, sha256);
  }
  return hashes;
}
