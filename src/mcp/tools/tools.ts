import { cancelJob } from "./cancel-job.ts";
import { delegate } from "./delegate.ts";
import { getDiff } from "./get-diff.ts";
import { getJob } from "./get-job.ts";
import { listJobs } from "./list-jobs.ts";
import { readOutput } from "./read-output.ts";
import { runJob } from "./run-job.ts";
import type { Tool } from "./tool.ts";
import { waitJob } from "./wait-job.ts";

/** Every tool, in the order in which a model reads of them. None approves anything, sends cues or changes lanes. */
export const tools: readonly Tool[] = [
  runJob,
  delegate,
  getJob,
  waitJob,
  readOutput,
  listJobs,
  cancelJob,
  getDiff,
];
