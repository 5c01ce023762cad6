/** The part of the store that knows how much jobs have said, and whose output has made room for others. */
export type OutputStore = {
  /**
   * Notes how much attempts have said so far: sizes, not differences, so that to say it twice changes nothing. Of a
   * job that is gone, or an attempt whose output was dropped, nothing is noted. Gives the bytes of all that is kept.
   */
  noteOutputs(input: { outputs: AttemptOutput[] }): Promise<{ keptBytes: number }>;
  /** Of these jobs those that exist: are there sizes of output, and through which attempt was it dropped (0 = none)? */
  getOutputNotes(input: {
    jobIds: string[];
  }): Promise<{ jobId: string; isNoted: boolean; droppedThrough: number }[]>;
  /**
   * Gives up the output of finished jobs, the one that ended first before all others, until no more than so many bytes
   * are kept. The jobs stay and keep their sizes; each gets an event. Afterwards the files of these attempts may go.
   */
  dropOutputs(input: {
    downToBytes: number;
    limit: number;
    nowMs: number;
  }): Promise<{ dropped: DroppedOutput[]; keptBytes: number }>;
};

/** A stream that is left out has said nothing new. */
export type AttemptOutput = { jobId: string; attempt: number; stdout?: number; stderr?: number };
export type DroppedOutput = { jobId: string; attempts: number[]; bytes: number };
/** By the number of the attempt. */
type OutputSizes = Record<number, { stdout: number; stderr: number }>;
/** What is left of the output of attempts up to this one. */
export type DroppedSizes = { throughAttempt: number; sizes: OutputSizes };

/** The sizes after a note about one attempt, and how many bytes more that makes. */
export function noted(
  before: OutputSizes,
  { attempt, stdout, stderr }: AttemptOutput,
): { sizes: OutputSizes; difference: number } {
  const old = before[attempt] ?? { stdout: 0, stderr: 0 };
  const now = { stdout: stdout ?? old.stdout, stderr: stderr ?? old.stderr };
  const difference = now.stdout + now.stderr - old.stdout - old.stderr;
  return { sizes: { ...before, [attempt]: now }, difference };
}

/** The attempts whose output has not been dropped. */
export function keptAttempts(sizes: OutputSizes, droppedThrough: number): number[] {
  return Object.keys(sizes)
    .map(Number)
    .filter((attempt) => attempt > droppedThrough);
}
