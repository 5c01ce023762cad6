/** This host cannot run the kernel tests at all; callers show it as such and never as passed. */
export class NotCapable extends Error {}

/** What autotools and TAP runners take for "skipped", so that it is neither success nor failure. */
export const notCapableStatus = 77;
