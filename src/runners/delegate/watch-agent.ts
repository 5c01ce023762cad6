import { type FSWatcher, watch } from "node:fs";
import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { Look } from "./repository/read-tree.ts";
import { walkRoots } from "./repository/read-tree.ts";

/** Why an agent is ended without a stop from outside: it reported that it is done, or it was idle for too long. */
export type AgentEnd = "finished" | "idle";

type Watched = {
  /** On the host; a plain file there means that the agent is done. */
  marker: string;
  /** How long an agent that is done may take to end by itself. */
  graceMs: number;
  /** How long it may be idle; 0 for no limit. */
  idleMs: number;
  /** The files of its output, whose sizes grow while it prints. */
  outputs: readonly string[];
  /** Where a changed file is a sign of life. */
  dirs: readonly { dir: string; look: Look }[];
};

/** How often the marker is checked, even if no change of its directory is noticed. */
const lookMsMax = 1_000;

/** Watches an agent until `close`, and aborts the returned signal with an AgentEnd. */
export function watchAgent(clock: Clock, watched: Watched): { signal: AbortSignal; close(): void } {
  const end = new AbortController();
  const life = new SignsOfLife(watched);
  let lastSignMs = clock.monotonicMs();
  let isClosed = false;
  let timer: Timer | undefined;
  const lookMs = Math.min(lookMsMax, watched.idleMs === 0 ? lookMsMax : watched.idleMs / 4);

  let isDone = false;
  const finish = (): void => {
    if (!isClosed) end.abort("finished" satisfies AgentEnd);
  };
  const findMarker = async (): Promise<void> => {
    if (isClosed || isDone || !(await isPlainFile(watched.marker)) || isDone) return;
    isDone = true;
    timer?.cancel();
    if (watched.graceMs === 0) finish();
    else timer = clock.setTimer(finish, watched.graceMs);
  };
  const known = life.hasChanged();
  const look = async (): Promise<void> => {
    await known;
    await findMarker();
    if (isDone) return;
    const nowMs = clock.monotonicMs();
    if (await life.hasPrinted()) lastSignMs = nowMs;
    // A search through the files takes longer, so it is done only when the time is up.
    if (watched.idleMs > 0 && nowMs - lastSignMs >= watched.idleMs) {
      if (await life.hasChanged()) lastSignMs = nowMs;
      else if (!isClosed) end.abort("idle" satisfies AgentEnd);
    }
    if (!isClosed && !isDone && !end.signal.aborted)
      // A failed look is repeated at the next one.
      timer = clock.setTimer(() => void look().catch(() => {}), lookMs);
  };
  // A failed look is repeated at the next one.
  const watcher = watchDirectory(dirname(watched.marker), () => void findMarker().catch(() => {}));
  // A failed look is repeated at the next one.
  void look().catch(() => {});
  return {
    signal: end.signal,
    close() {
      isClosed = true;
      timer?.cancel();
      watcher?.close();
    },
  };
}

/** Null if the system has no watches left: then the periodic check has to do. */
function watchDirectory(dir: string, onChange: () => void): FSWatcher | null {
  try {
    const watcher = watch(dir, { persistent: false }, onChange);
    watcher.on("error", () => {});
    return watcher;
  } catch {
    // The system has no watches left; see above.
    return null;
  }
}

/** A link or a directory of that name is no marker: only lstat looks at it, so it leads nowhere. */
async function isPlainFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (status) => status.isFile(),
    () => false,
  );
}

class SignsOfLife {
  readonly #watched: Watched;
  #printed = -1;
  #newestNs = 0n;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  async hasPrinted(): Promise<boolean> {
    const sizes = await Promise.all(this.#watched.outputs.map(sizeOf));
    const printed = sizes.reduce((sum, size) => sum + size, 0);
    const hasGrown = printed > this.#printed;
    this.#printed = printed;
    return hasGrown;
  }

  /** Too many files to examine count as a sign of life too; other limits end that. */
  async hasChanged(): Promise<boolean> {
    // The search has found more files than its limit; see above.
    return this.#findChange().catch(() => true);
  }

  async #findChange(): Promise<boolean> {
    let newestNs = 0n;
    for (const { dir, look } of this.#watched.dirs) {
      await walkRoots(dir, look.roots, {
        async visit({ path, status }) {
          if (look.hidden.includes(path)) return "skip";
          if (status.ctimeNs > newestNs) newestNs = status.ctimeNs;
          return;
        },
        leaveOut: () => {},
      });
    }
    const isNewer = newestNs > this.#newestNs;
    this.#newestNs = newestNs;
    return isNewer;
  }
}

async function sizeOf(path: string): Promise<number> {
  return lstat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
