import type { JobMount } from "../../../sandbox/sandbox.ts";
import type { TaskDir } from "../show-task.ts";
import type { Look, Tree } from "./read-tree.ts";

/** Where an agent works, and where its work is found afterwards. */
export type Workspace = {
  /** How the repository is protected from changes, as reported to the user. */
  kind: "copy" | "in-place" | "private";
  /** Where the agent starts, as it sees it. */
  cwd: string;
  /** Where the task is put for an agent that reads only its workspace; undefined in place. */
  task?: TaskDir | undefined;
  /** The mounts of the repository for the agent, and read-only ones for the check of its work. */
  mounts: readonly JobMount[];
  readOnlyMounts: readonly JobMount[];
  /** On the host: the paths that may change as they are now, below one directory. */
  dir: string;
  /** On the host: a copy of them as they were, below another; files over the size limit are missing. */
  beforeDir: string;
  before: Tree;
  /** The repository into which the changes are moved when the job ends, if they are made in a copy and belong there. */
  moveInto?: string | undefined;
  /** The compared paths. Without a cage these are more than the allowed ones. */
  look: Look;
  /** The allowed paths. */
  allowed: readonly string[];
  /** On the host: the files that are not below `dir`, for expected files that were not changed. */
  restDir: string;
};

/** Whether the agent changes the repository while it works. */
export function isLive({ kind, moveInto }: Workspace): boolean {
  return kind === "in-place" && moveInto === undefined;
}
