/**
 * What an attempt has written, if that is little: it travels with the report of its end and is kept with it, so that it
 * needs no call, file or sync of its own. Why: ADR 0057.
 */
export type SmallOutput = { stdout: Uint8Array; stderr: Uint8Array };

/** Of both streams together. */
export const smallOutputBytesMax = 32 * 1024;

/** Limits of output are for each stream. */
export function largerStream({ stdout, stderr }: SmallOutput): number {
  return Math.max(stdout.length, stderr.length);
}

export function outputTooLargeText(bytesMax: number): string {
  return `an attempt may write at most ${bytesMax} bytes to each stream`;
}
