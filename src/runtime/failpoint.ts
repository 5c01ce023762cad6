/**
 * A named place in the code where a test may stop, delay or kill the process. It is a dependency and not a
 * switch, so that the shipped program holds no way to turn one on.
 */
export type Failpoint = (name: string) => void | Promise<void>;

/** What the shipped entry files pass in. */
export const noFailpoint: Failpoint = () => {};
