import { type Sandbox, SandboxUnavailable } from "./sandbox.ts";

const why = "this worker runs functions only";
const refuse = async (): Promise<never> => {
  throw new SandboxUnavailable(why, { isHostDown: false });
};

/** For a worker that starts no processes: it needs no launcher, and has nothing to say about cages. */
export const noProcesses: Sandbox = {
  level: "none",
  startsNone: true,
  obstacle: null,
  probe: refuse,
  workDirInside: (workDir) => workDir,
  start: refuse,
  recheck: async () => null,
  sweep: async () => {},
  close: async () => {},
};
