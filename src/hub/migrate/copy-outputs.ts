import { outputStreams } from "../../core/jobs/output-stream.ts";
import type { OutputName, Outputs } from "../../output/outputs.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { noFailpoint } from "../../runtime/failpoint.ts";
import { openOutputs } from "../open-outputs.ts";
import type { HubSettings } from "../settings/settings.ts";
import type { OnProgress } from "./copy-parts.ts";
import { refused, type Side } from "./side.ts";

/** Each job is some round trips to the database, so several are copied at once. */
const jobsAtOnce = 8;

type Call = { home: string; settings: HubSettings; from: Side; to: Side };

/**
 * Copies the output of jobs to the place where a hub with the other database keeps it. Existing output stays. Why: ADR
 * 0086.
 */
export async function copyOutputs(call: Call, onProgress: OnProgress): Promise<void> {
  const from = await openOutputs(sourcesOf(call, call.from));
  try {
    const to = await openOutputs(sourcesOf(call, call.to));
    try {
      const total = await countJobs(from);
      let done = 0;
      for await (const page of from.listJobs()) {
        for (let at = 0; at < page.length; at += jobsAtOnce) {
          const some = page.slice(at, at + jobsAtOnce);
          await Promise.all(some.map((jobId) => copyJob({ from, to }, jobId)));
          done += some.length;
          onProgress({ phase: "outputs", part: "outputs", done, total });
        }
      }
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/** The settings as a hub with this database has them. */
function sourcesOf({ home, settings }: Call, { place }: Side) {
  const own =
    place.kind === "file"
      ? { databaseUrl: null, sqlitePath: place.path, outputsDir: null }
      : { databaseUrl: place.url };
  return { home, settings: { ...settings, ...own }, clock: systemClock, failpoint: noFailpoint };
}

async function countJobs(outputs: Outputs): Promise<number> {
  let count = 0;
  for await (const page of outputs.listJobs()) count += page.length;
  return count;
}

type Pair = { from: Outputs; to: Outputs };

async function copyJob({ from, to }: Pair, jobId: string): Promise<void> {
  for (const attempt of await from.listAttempts(jobId)) {
    const expected = await from.sizes({ jobId, attempt });
    const found = await to.sizes({ jobId, attempt });
    for (const stream of outputStreams) {
      const range = { start: found[stream], end: expected[stream] };
      await copyStream({ from, to }, { jobId, attempt, stream }, range);
    }
  }
  await to.sync(jobId);
}

/** The byte at an offset never changes, so a copy that was interrupted continues at its end. */
async function copyStream(
  { from, to }: Pair,
  output: OutputName,
  { start, end }: { start: number; end: number },
): Promise<void> {
  if (start === end) return;
  const { jobId, stream } = output;
  if (start > end) throw refused(`the target has more of the ${stream} of job ${jobId} than the source has`);
  let offset = start;
  for await (const bytes of from.read(output, { start, end })) {
    offset = (await to.append(output, { offset, bytes })).size;
  }
}
