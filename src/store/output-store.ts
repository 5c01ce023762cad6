import type { SmallOutput } from "../core/jobs/small-output.ts";

/** The part of the store that knows the sizes of outputs, and whose output was removed to make room. */
export type OutputStore = {
  /**
   * Records how much attempts have written so far: sizes, not differences, so that repeating it changes nothing.
   * Nothing is recorded for a deleted job, or for an attempt whose output was removed. Returns the total bytes that are
   * kept.
   */
  noteOutputs(input: { outputs: AttemptOutput[] }): Promise<{ keptBytes: number }>;
  /**
   * Those of these jobs that exist: whether there are output sizes, and up to which attempt output was removed (0 =
   * none). With a tenant, jobs of other tenants do not exist.
   */
  getOutputNotes(input: {
    jobIds: string[];
    tenantId?: string;
  }): Promise<{ jobId: string; isNoted: boolean; droppedThrough: number }[]>;
  /** The output that came with the end of an attempt; null if it was appended, or removed, or if there was none. */
  getSmallOutput(input: { jobId: string; attempt: number }): Promise<SmallOutput | null>;
  /**
   * Gives up the output of finished jobs, beginning with the one that ended first, until at most this many bytes are
   * kept. The jobs stay and keep their sizes; each gets an event. Afterwards the files of these attempts can be
   * removed.
   */
  dropOutputs(input: {
    downToBytes: number;
    limit: number;
    nowMs: number;
  }): Promise<{ dropped: DroppedOutput[]; keptBytes: number }>;
};

/** A stream that is left out has nothing new. */
export type AttemptOutput = { jobId: string; attempt: number; stdout?: number; stderr?: number };
export type DroppedOutput = { jobId: string; attempts: number[]; bytes: number };
/** By the number of the attempt. */
type OutputSizes = Record<number, { stdout: number; stderr: number }>;
/** The output of attempts up to this one has been removed. */
export type DroppedSizes = { throughAttempt: number; sizes: OutputSizes };

/** The sizes after an update for one attempt, and how many bytes that adds. */
export function noted(
  before: OutputSizes,
  { attempt, stdout, stderr }: AttemptOutput,
): { sizes: OutputSizes; difference: number } {
  const old = before[attempt] ?? { stdout: 0, stderr: 0 };
  const now = { stdout: stdout ?? old.stdout, stderr: stderr ?? old.stderr };
  const difference = now.stdout + now.stderr - old.stdout - old.stderr;
  return { sizes: { ...before, [attempt]: now }, difference };
}

/** The attempts whose output has not been removed. */
export function keptAttempts(sizes: OutputSizes, droppedThrough: number): number[] {
  return Object.keys(sizes)
    .map(Number)
    .filter((attempt) => attempt > droppedThrough);
}
