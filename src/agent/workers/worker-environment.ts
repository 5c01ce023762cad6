/**
 * What a worker inherits: the environment of the container, which its image has set up for it. The agent's own settings
 * stay out. Why: ADR 0045.
 */
export function workerEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith("WRIT_"),
  );
  return Object.fromEntries(entries);
}
