import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { codeOf } from "../../core/errors.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";
import type { Logger } from "../../runtime/log/logger.ts";

const running = z.array(
  z.object({
    tenant_id: z.string(),
    port: z.number(),
    command: z.array(z.string()),
    pid: z.number(),
    started_at: z.number(),
    log: z.string(),
    /** The socket on which it may listen instead of the port. */
    socket: z.string().optional(),
  }),
);

/** A process that serves jobs over HTTP, as shown to operators. */
export type RunningWorker = z.infer<typeof running>[number];

const fileName = "running.json";

/** The list of the processes that run, in a file beside their logs: so that `writ doctor` can show them. */
export class RunningList {
  readonly #file: string;
  readonly #logger: Logger;
  readonly #workers = new Map<string, RunningWorker>();
  #written: Promise<void> = Promise.resolve();

  constructor(logDir: string, logger: Logger) {
    this.#file = join(logDir, fileName);
    this.#logger = logger;
  }

  add(id: string, worker: RunningWorker): void {
    this.#workers.set(id, worker);
    this.#write();
  }

  remove(id: string): void {
    if (this.#workers.delete(id)) this.#write();
  }

  /** Resolves when the file is as the list. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** It is for people to read, so a disk on which it cannot be written stops no job. */
  #write(): void {
    this.#written = this.#written.then(async () => {
      try {
        await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
        await writePrivateFile(this.#file, JSON.stringify([...this.#workers.values()]));
      } catch (error) {
        this.#logger.warn(
          { file: this.#file, code: codeOf(error) },
          "the list of HTTP workers is not written",
        );
      }
    });
  }
}

/** The processes that a worker with its logs here has listed; none if it never had any. */
export async function readRunningList(logDir: string): Promise<RunningWorker[]> {
  const text = await readFile(join(logDir, fileName), "utf8").catch(() => "[]");
  try {
    return running.parse(JSON.parse(text));
  } catch {
    // A damaged or older list has nothing to show.
    return [];
  }
}
