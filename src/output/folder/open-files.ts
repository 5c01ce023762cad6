import { constants, existsSync, mkdirSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode, WritError } from "../../core/errors.ts";
import { Turns } from "../../runtime/clock/turns.ts";

type OnMade = (path: string, firstDir: string | undefined) => void;

type OpenFile = {
  /** One act at a time, in the order in which they were requested. */
  turns: Turns;
  users: number;
  isBusy: boolean;
  handle: FileHandle | undefined;
};

// A sender sends one chunk at a time; more waiting calls than this are a bug in the caller.
const waitingMax = 64;

/**
 * Keeps recently used files open, at most `openMax`, and runs only one act at a time on each. At most as many acts run
 * at once as files may be open, so there is always a file that can be closed.
 */
export class OpenFiles {
  readonly #openMax: number;
  readonly #onMade: OnMade;
  readonly #files = new Map<string, OpenFile>();
  /** As many acts run at once as files may be open. */
  readonly #permits: Turns;
  #openCount = 0;

  /** `onMade` is called for each file that was created, with the first folder that had to be created for it. */
  constructor(openMax: number, onMade: OnMade = () => {}) {
    this.#openMax = openMax;
    this.#permits = new Turns(openMax);
    this.#onMade = onMade;
  }

  /** Runs `act` when it is its turn on this file. The file is created if it does not exist. */
  async use<T>(path: string, act: (handle: FileHandle) => Promise<T>): Promise<T> {
    return this.#inTurn(path, async (file) => {
      file.handle ??= await this.#open(path);
      return act(file.handle);
    });
  }

  /** Closes every file for which `isMatch` is true, each after what was requested for it before. */
  async close(isMatch: (path: string) => boolean = () => true): Promise<void> {
    const paths = [...this.#files.keys()].filter(isMatch);
    await Promise.all(paths.map((path) => this.#inTurn(path, (file) => this.#closeHandle(file))));
  }

  async #inTurn<T>(path: string, act: (file: OpenFile) => Promise<T>): Promise<T> {
    const file = this.#files.get(path) ?? {
      turns: new Turns(1),
      users: 0,
      isBusy: false,
      handle: undefined,
    };
    if (file.users >= waitingMax) {
      throw new WritError("OUTPUT_UNAVAILABLE", `${file.users} appends are already waiting for one output`);
    }
    // The last one in the map was used last, so the first idle one is the one to close.
    this.#files.delete(path);
    this.#files.set(path, file);
    file.users++;
    try {
      return await file.turns.take(() => this.#permits.take(() => this.#act(file, act)));
    } finally {
      file.users--;
      if (file.users === 0 && file.handle === undefined && this.#files.get(path) === file)
        this.#files.delete(path);
    }
  }

  async #act<T>(file: OpenFile, act: (file: OpenFile) => Promise<T>): Promise<T> {
    file.isBusy = true;
    try {
      return await act(file);
    } finally {
      file.isBusy = false;
    }
  }

  async #open(path: string): Promise<FileHandle> {
    await this.#makeRoom();
    try {
      return await openOrCreate(path, this.#onMade);
    } catch (error) {
      this.#openCount--;
      throw error;
    }
  }

  /** Reserves a place; when all are taken, that of the file that has been idle longest. */
  async #makeRoom(): Promise<void> {
    if (this.#openCount < this.#openMax) {
      this.#openCount++;
      return;
    }
    const idle = [...this.#files].find(([, file]) => file.handle !== undefined && !file.isBusy);
    if (idle === undefined) throw new Error("no idle output file, although one must exist");
    const [path, file] = idle;
    const { handle } = file;
    file.handle = undefined;
    if (file.users === 0) this.#files.delete(path);
    // The writers have already been answered, so no caller is left to report a failed close to.
    await handle?.close().catch(() => {});
  }

  async #closeHandle(file: OpenFile): Promise<void> {
    const { handle } = file;
    if (handle === undefined) return;
    file.handle = undefined;
    await handle.close().finally(() => this.#openCount--);
  }
}

/** Without O_APPEND, because the kernel would then ignore the position of a write. */
const flags = constants.O_RDWR | constants.O_NOFOLLOW;

/**
 * The folders are made at once: through the thread pool, each would take several trips, while somebody waits for the first
 * byte of a job.
 */
async function openOrCreate(path: string, onMade: OnMade): Promise<FileHandle> {
  const dir = dirname(path);
  const firstDir = existsSync(dir) ? undefined : mkdirSync(dir, { recursive: true, mode: 0o700 });
  try {
    const handle = await open(path, flags | constants.O_CREAT | constants.O_EXCL, 0o600);
    onMade(path, firstDir);
    return handle;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return open(path, flags);
    throw error;
  }
}
