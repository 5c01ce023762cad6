/**
 * A named place inside the thread where a test may stop or kill the process, or throw what SQLite would throw.
 * Functions cannot travel to a thread, so a test names a module that exports one; the program never does.
 */
export type Failpoint = (name: string) => void;

export async function loadFailpoint(moduleUrl: string | null): Promise<Failpoint> {
  if (moduleUrl === null) return () => {};
  const module: { failpoint: Failpoint } = await import(moduleUrl);
  return module.failpoint;
}
