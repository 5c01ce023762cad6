/**
 * A named place inside the thread where a test can stop or kill the process, or throw an error of SQLite. Functions
 * cannot be passed to a thread, so a test names a module that exports one; the program never does. Why: ADR 0003.
 */
export type Failpoint = (name: string) => void;

export async function loadFailpoint(moduleUrl: string | null): Promise<Failpoint> {
  if (moduleUrl === null) return () => {};
  const module: { failpoint: Failpoint } = await import(moduleUrl);
  return module.failpoint;
}
