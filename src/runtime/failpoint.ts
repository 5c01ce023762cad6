/**
 * A named place in the code where a test can stop, delay or kill the process. It is a dependency and not a switch, so
 * the shipped program has no way to turn one on.
 */
export type Failpoint = (name: string) => void | Promise<void>;

/** What the shipped entry files pass in. */
export const noFailpoint: Failpoint = () => {};
