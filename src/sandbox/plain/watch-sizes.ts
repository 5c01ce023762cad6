import { type FSWatcher, statSync, watch } from "node:fs";

/**
 * Calls `onExceeded` once when one of the files has grown beyond the limit. The kernel reports it; nothing is polled.
 */
export function watchSizes(
  paths: readonly string[],
  bytesMax: number,
  onExceeded: () => void,
): { close(): void } {
  const watchers: FSWatcher[] = [];
  const close = (): void => {
    for (const watcher of watchers.splice(0)) watcher.close();
  };
  const look = (path: string): void => {
    if (watchers.length === 0 || sizeOf(path) <= bytesMax) return;
    close();
    onExceeded();
  };
  for (const path of paths) {
    try {
      const watcher = watch(path, () => look(path));
      // If a watch breaks, the check at the end still cuts off what is too much.
      watcher.on("error", () => {});
      watchers.push(watcher);
    } catch {
      // As above: the host has no watches left, which must not fail the job.
    }
  }
  // Bytes that were written before the watch began caused no event.
  for (const path of paths) look(path);
  return { close };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
