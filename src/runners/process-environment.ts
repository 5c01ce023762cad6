type EnvironmentFacts = {
  jobId: string;
  attempt: number;
  type: string;
  /** Paths as seen by the process. */
  inputFile: string;
  resultFile: string;
  outputDir: string;
  inputsDir?: string | undefined;
  traceparent?: string | undefined;
  scheduledFor?: string | undefined;
  jobEnv: Readonly<Record<string, string>>;
  secrets: Readonly<Record<string, string>>;
};

/** The system's default, not the worker's own, which may contain a user's home. */
export const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The whole environment of a process. It starts empty: nothing of the worker's own environment is in it. */
export function processEnvironment(facts: EnvironmentFacts): Record<string, string> {
  return {
    PATH: systemPath,
    HOME: "/tmp",
    // What libraries for tracing read; a job that sets its own has a reason.
    ...(facts.traceparent === undefined ? {} : { TRACEPARENT: facts.traceparent }),
    ...facts.jobEnv,
    ...facts.secrets,
    // Last, so that a job can trust these whatever its own environment contains.
    JOB_ID: facts.jobId,
    JOB_ATTEMPT: String(facts.attempt),
    JOB_TYPE: facts.type,
    JOB_INPUT_FILE: facts.inputFile,
    JOB_RESULT_FILE: facts.resultFile,
    JOB_OUTPUT_DIR: facts.outputDir,
    ...(facts.scheduledFor === undefined ? {} : { JOB_SCHEDULED_FOR: facts.scheduledFor }),
    ...(facts.inputsDir === undefined ? {} : { JOB_INPUTS_DIR: facts.inputsDir }),
  };
}

/** The whole environment of a process that serves many jobs. */
export function serverEnvironment({
  port,
  socketFile,
  secrets,
}: {
  port: number;
  socketFile: string;
  secrets: Readonly<Record<string, string>>;
}): Record<string, string> {
  return { PATH: systemPath, HOME: "/tmp", ...secrets, PORT: String(port), WRIT_SOCKET: socketFile };
}
