import { stat } from "node:fs/promises";
import { join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { type FileLock, tryLockFile } from "../../runtime/files/file-lock.ts";
import { makeDir } from "../../runtime/files/make-dir.ts";
import type { GuardDeps } from "../../runtime/guarded-fetch/guarded-fetch.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import { CacheEntries } from "./cache-entries.ts";
import { copyVerified } from "./copy-verified.ts";
import { downloadSolver } from "./download-solver.ts";
import { type DownloadWaiter, SharedDownloads } from "./shared-downloads.ts";

export type WantedSolver = { tenantId: string; url: string; sha256: string };

type CacheDeps = {
  dir: string;
  /** Of all solvers together, and of one. */
  cacheBytesMax: number;
  solverBytesMax: number;
  guard: GuardDeps;
  logger: Logger;
};

/** Another program may remove or change the file between its download and its use, but hardly more than once. */
const triesMax = 3;

/**
 * The solvers that a worker has downloaded, by tenant and hash. A job never runs a file of the cache but a copy of its
 * own, made and verified for it; so the cache may remove or replace its files at any time. Why: ADR 0043.
 */
export class SolverCache {
  readonly #deps: CacheDeps;
  readonly #entries: CacheEntries;
  readonly #downloads = new SharedDownloads();
  #lock: FileLock | null = null;

  constructor(deps: CacheDeps) {
    const { dir, cacheBytesMax: bytesMax, guard, logger } = deps;
    this.#deps = deps;
    this.#entries = new CacheEntries({ dir, bytesMax, clock: guard.clock, logger });
  }

  /** Locks the cache for one process, which removes unknown files as leftovers. */
  async open(): Promise<void> {
    const { dir } = this.#deps;
    await makePrivateDir(dir);
    this.#lock = tryLockFile(join(dir, "cache.lock"));
    if (this.#lock === null) {
      throw new WritError(
        "CONFIG_INVALID",
        `another worker uses the solver cache ${dir}; set SOLVER_CACHE_DIR to another directory`,
      );
    }
    await this.#entries.load();
  }

  close(): void {
    this.#lock?.release();
  }

  /** Puts a verified copy of the solver at `target`; downloads it first if need be. */
  async place(wanted: WantedSolver, target: string, waiter: DownloadWaiter): Promise<void> {
    const path = this.#entries.pathOf(wanted.tenantId, wanted.sha256);
    for (let tries = 0; tries < triesMax; tries++) {
      const found = await this.#entries.use(path, () => copyVerified(path, target, wanted.sha256));
      if (found === "copied") return;
      if (found === "damaged") {
        this.#deps.logger.error({ path }, "a cached solver was changed on disk; it is downloaded again");
        await this.#entries.remove(path);
      }
      await this.#download(wanted, path, waiter);
    }
    throw new Error(`the cached solver ${path} does not stay as it was downloaded`);
  }

  async #download(wanted: WantedSolver, path: string, waiter: DownloadWaiter): Promise<void> {
    const { url, sha256, tenantId } = wanted;
    // By URL too: a job does not wait for a slow server that another job has chosen.
    await this.#downloads.join(`${tenantId} ${sha256} ${url}`, waiter, async (shared) => {
      const { guard, logger, solverBytesMax: bytesMax } = this.#deps;
      const startedMs = guard.clock.monotonicMs();
      const sizeBytes = await downloadSolver(guard, { url, sha256, file: path, bytesMax, ...shared });
      await this.#entries.add(path, sizeBytes);
      const ms = Math.round(guard.clock.monotonicMs() - startedMs);
      logger.info(
        { tenant_id: tenantId, sha256, host: new URL(url).host, bytes: sizeBytes, ms },
        "solver downloaded",
      );
    });
  }
}

/** A user who can write there could replace a folder by a link, so that files would be written elsewhere. */
async function makePrivateDir(dir: string): Promise<void> {
  makeDir(dir);
  const { mode } = await stat(dir);
  if ((mode & 0o077) === 0) return;
  throw new WritError(
    "CONFIG_INVALID",
    `other users can access the solver cache ${dir}; run: chmod 700 ${dir}`,
  );
}
