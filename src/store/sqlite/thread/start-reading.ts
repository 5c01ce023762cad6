import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { ShowJobs } from "../../jobs/job-list.ts";
import { readActs } from "../reads/read-acts.ts";
import { serveReads } from "./serve-reads.ts";
import type { ReaderSettings } from "./wire.ts";

/** About a third of the time that an ordinary thread would get. */
const readerPriority = 5;

/** For the program of a thread that reads beside the writes. Why: ADR 0059, ADR 0070. */
export async function startReading(show?: ShowJobs): Promise<void> {
  yieldToOthers();
  await serveReads(readActs, parentPort!, workerData as ReaderSettings, show);
}

/**
 * When there is more to do than the machine can, a list waits rather than a submission. Linux takes the number of a
 * thread where it takes that of a process.
 */
function yieldToOthers(): void {
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), readerPriority);
  } catch {
    // Without it, reads are as urgent as everything else.
  }
}
