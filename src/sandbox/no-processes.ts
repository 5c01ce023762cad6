import { type Sandbox, SandboxUnavailable } from "./sandbox.ts";

const why = "this worker runs functions only";
const refuse = async (): Promise<never> => {
  throw new SandboxUnavailable(why, { isHostDown: false });
};

/** The sandbox of a worker that starts no processes and so needs no launcher. */
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
