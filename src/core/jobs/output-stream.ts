/** The two streams that are kept of every attempt. */
export const outputStreams = ["stdout", "stderr"] as const;
export type OutputStream = (typeof outputStreams)[number];
