import { join } from "node:path";
import { boolean, integer, loadSettings, text } from "../runtime/settings/settings.ts";

export type AgentSettings = {
  stateDir: string;
  logDir: string;
  rotation: LogRotation;
  /** Whether a job token may travel unencrypted to another machine. */
  allowInsecure: boolean;
};

export type LogRotation = {
  sizeBytesMax: number;
  /** How many full files are kept beside the current one. */
  filesMax: number;
  checkMs: number;
};

const declarations = {
  stateDir: { name: "WRIT_AGENT_STATE_DIR", parse: text(), default: "/var/lib/writ-agent" },
  logDir: { name: "WRIT_AGENT_LOG_DIR", parse: text(), default: "/var/log/writ-agent" },
  rotationMaxSizeMb: {
    name: "WRIT_AGENT_LOG_ROTATION_MAX_SIZE_MB",
    parse: integer({ min: 1, max: 1_048_576 }),
    default: 50,
  },
  rotationMaxFiles: {
    name: "WRIT_AGENT_LOG_ROTATION_MAX_FILES",
    parse: integer({ min: 1, max: 1000 }),
    default: 5,
  },
  rotationCheckIntervalMinutes: {
    name: "WRIT_AGENT_LOG_ROTATION_CHECK_INTERVAL_MINUTES",
    parse: integer({ min: 1, max: 10_080 }),
    default: 10,
  },
  allowInsecure: { name: "WRIT_ALLOW_INSECURE", parse: boolean(), default: false },
} as const;

export function loadAgentSettings(env: Readonly<Record<string, string | undefined>>): AgentSettings {
  const values = loadSettings(declarations, { env });
  return {
    stateDir: values.stateDir,
    logDir: values.logDir,
    allowInsecure: values.allowInsecure,
    rotation: {
      sizeBytesMax: values.rotationMaxSizeMb * 1024 * 1024,
      filesMax: values.rotationMaxFiles,
      checkMs: values.rotationCheckIntervalMinutes * 60_000,
    },
  };
}

/** The files of one job. */
export function jobFiles({ stateDir, logDir }: AgentSettings, jobId: string) {
  const dir = join(stateDir, "jobs", jobId);
  return {
    state: `${dir}.json`,
    dir,
    input: join(dir, "input.json"),
    result: join(dir, "result.json"),
    output: join(dir, "output"),
    stdout: join(logDir, "jobs", `${jobId}.out.log`),
    stderr: join(logDir, "jobs", `${jobId}.err.log`),
  };
}
export type JobFiles = ReturnType<typeof jobFiles>;

/** The files of the worker on one port. */
export function workerFiles({ stateDir, logDir }: AgentSettings, port: number) {
  const id = workerIdOf(port);
  return {
    state: join(stateDir, "workers", `${id}.json`),
    lock: join(stateDir, "workers", `${id}.lock`),
    log: join(workerLogDir({ logDir }), `${id}.log`),
    /** Where a worker may listen instead of its port. */
    socket: join(stateDir, "workers", `${id}.sock`),
  };
}

export function workerIdOf(port: number): string {
  return `http_${port}`;
}

export function workerLogDir({ logDir }: Pick<AgentSettings, "logDir">): string {
  return join(logDir, "workers");
}
