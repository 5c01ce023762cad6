import { WritError } from "../core/errors.ts";
import { readPrivateFile } from "../runtime/files/private-file.ts";
import { RunFailure, type RunnerSettings } from "./runner.ts";

/** The secrets that a job asks for. A missing secret and one of another tenant look the same to the job. */
export async function readSecrets(
  known: RunnerSettings["secrets"],
  names: readonly string[],
  tenantId: string,
): Promise<Record<string, string>> {
  const secrets: Record<string, string> = {};
  for (const name of names) {
    const entry = Object.hasOwn(known, name) ? known[name] : undefined;
    // What is added to requests is never given to a job.
    const isGiven = entry?.inject === undefined && entry?.tenants.includes(tenantId) === true;
    const value = isGiven ? await readSecret(entry.file) : null;
    if (value === null) throw noSuchSecret(name);
    secrets[name] = value;
  }
  return secrets;
}

export async function readSecret(file: string): Promise<string | null> {
  try {
    // Editors and `echo` end a file with a line break that is not part of the secret.
    return (await readPrivateFile(file))?.replace(/\r?\n$/, "") ?? null;
  } catch (error) {
    // Why the file is refused is for the operator only and stays out of the job's record.
    if (error instanceof WritError) return null;
    throw error;
  }
}

export function noSuchSecret(name: string): RunFailure {
  return new RunFailure("INVALID_JOB", "NO_SUCH_SECRET", `this worker has no secret ${name} for this job`);
}
