import { resolve } from "node:path";
import type { Artifact, Files } from "../../../client/index.ts";
import { formatBytes } from "../../../core/text/format-bytes.ts";
import type { CliContext } from "../../context.ts";
import { ProgressBar } from "../../terminal/progress-bar.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

type SaveInput = {
  jobId: string;
  /** As it was given. */
  dir: string;
  /** All of the job's files by default. */
  files?: readonly Artifact[];
};

/** Saves files of a job in a directory, with a progress bar on a terminal, and says on stderr what was saved. */
export async function saveArtifacts(
  context: CliContext,
  files: Files,
  { jobId, dir, files: wanted }: SaveInput,
): Promise<readonly Artifact[]> {
  const all = wanted ?? (await files.artifacts(jobId));
  let current: { file: Artifact; bar: ProgressBar } | undefined;
  const onProgress = (file: Artifact, bytes: number): void => {
    if (current?.file !== file) {
      current?.bar.end();
      current = {
        file,
        bar: new ProgressBar(context, { what: `downloading ${file.path}`, total: file.size }),
      };
    }
    current.bar.show(bytes);
  };
  const signal = context.stops.requested;
  try {
    await files.saveArtifacts(jobId, resolve(context.cwd, dir), { files: all, signal, onProgress });
  } finally {
    current?.bar.end();
  }
  context.stderr.write(`${context.program}: ${saved(all)} in ${neutraliseLine(dir)}\n`);
  return all;
}

function saved(files: readonly Artifact[]): string {
  if (files.length === 0) return "the job has left no files; nothing was saved";
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return `${files.length === 1 ? "1 file was" : `${files.length} files were`} saved (${formatBytes(bytes)})`;
}
