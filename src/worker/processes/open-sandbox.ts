import { userInfo } from "node:os";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import { cageSummary } from "../../sandbox/cage-summary.ts";
import { CagedSandbox } from "../../sandbox/caged-sandbox.ts";
import { openPlainSandbox } from "../../sandbox/plain/open-plain-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { WorkerSettings } from "../settings.ts";

type SandboxStart = {
  settings: WorkerSettings;
  logger: Logger;
  clock: Clock;
  /** False for a program with a worker in it, which must not be moved to another cgroup. */
  mayMove: boolean;
  /** The user that this process runs as. */
  uid: number;
};

/** `warnings` tell the person who starts the worker which parts of a cage its jobs lack. */
export type OpenedSandbox = { sandbox: Sandbox; warnings: string[] };

/** Opens the cage with the parts that the host supports; missing parts are recorded on every job. */
export async function openSandbox({
  settings,
  logger,
  clock,
  mayMove,
  uid,
}: SandboxStart): Promise<OpenedSandbox> {
  const { isolation, visible_paths: visiblePaths } = settings.execution;
  const { workDir } = settings;
  if (isolation === "none") {
    logger.warn(noCageWarning);
    return {
      sandbox: await openPlainSandbox({ workDir, uid }),
      warnings: [noCageWarning, ...userWarnings(uid)],
    };
  }
  const { pid } = process;
  const sandbox = await CagedSandbox.open({
    level: isolation,
    workDir,
    visiblePaths,
    clock,
    logger,
    pid,
    uid,
    mayMove,
  });
  const missing = Object.entries(sandbox.facts.parts).flatMap(([part, { had }]) => (had ? [] : [part]));
  if (missing.length === 0) return { sandbox, warnings: [] };
  // The person who started the worker sees the warnings.
  logger.info({ isolation: sandbox.level, missing }, "this host lacks parts of the cage; see `writ doctor`");
  const { text } = cageSummary(sandbox.facts);
  const consequence =
    sandbox.facts.parts.jail.had || uid === 0
      ? `; this host lacks parts of the cage: ${missing.join(", ")}`
      : `, so ${runAsYou(uid)}`;
  return { sandbox, warnings: [`${text}${consequence}; \`writ doctor\` says what to do`] };
}

const noCageWarning = "isolation is none: jobs run without a cage";

/** Without a jail a job has all rights of its user. */
function userWarnings(uid: number): string[] {
  if (uid === 0) return [];
  return [`this worker is not root: ${runAsYou(uid)}`];
}

function runAsYou(uid: number): string {
  return `jobs run as you (${userName(uid)}), and can read and change what you can`;
}

/** The user's name, or the id where it has no name, as in some containers. */
function userName(uid: number): string {
  try {
    return userInfo().username;
  } catch {
    // See above.
    return `user ${uid}`;
  }
}
