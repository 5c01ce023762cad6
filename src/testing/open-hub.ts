import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { HubDeps } from "../hub/deps.ts";
import { ensureAdminToken, prepareHome } from "../hub/home/first-start.ts";
import { OpenBodies } from "../hub/http/bodies/open-bodies.ts";
import { createListener, type Listener } from "../hub/http/listener.ts";
import { OpenStreams } from "../hub/http/streams/open-streams.ts";
import { openDeps } from "../hub/open-deps.ts";
import { recover } from "../hub/recover.ts";
import { createReaper } from "../hub/services/reaper.ts";
import { createScheduler } from "../hub/services/scheduler.ts";
import { loadHubSettings, placesOf } from "../hub/settings/settings.ts";
import { showJobs } from "../hub/views/show-jobs.ts";
import { silentLogger } from "../runtime/log/logger.ts";
import { startAll, stopAll } from "../runtime/service.ts";
import { openSqliteInProcess } from "../store/sqlite/open-in-process.ts";
import type { TestClock } from "./test-clock.ts";

export type OpenHub = {
  deps: HubDeps;
  home: string;
  url: string;
  token: string;
  close(): Promise<void>;
};

/**
 * The hub with its real routes, rules and database, inside this process: without threads, certificates, gRPC and the services of an
 * installation. It listens on loopback alone, and its home is removed when it closes. Why: ADR 0118.
 */
export async function openHub(clock: TestClock): Promise<OpenHub> {
  const home = mkdtempSync(join(memoryDir(), "writ-testing-"));
  const closers: (() => Promise<void> | void)[] = [() => rmSync(home, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    // Bounded: each is taken once.
    for (const closeOne of closers.splice(0).reverse()) await closeOne();
  };
  try {
    const deps = await openTestDeps(home, clock);
    closers.push(async () => {
      await deps.objects.close();
      await deps.outputs.appended.close();
      await deps.leadership.stop();
      await deps.store.close();
    });
    await deps.leadership.start();
    await ensureAdminToken(deps, { secret: null, osUser: "test" });
    await recover(deps);
    const onError = (error: unknown): void => deps.failures.error(error, "an open call could not be checked");
    const streams = new OpenStreams(clock, onError);
    const bodies = new OpenBodies(clock, onError);
    const services = [
      deps.feed,
      deps.statistics,
      createScheduler(deps),
      deps.refusals,
      deps.receipts,
      deps.signsOfLife,
      bodies,
      createReaper(deps),
      streams,
      deps.dispatcher,
    ];
    await startAll(services);
    closers.push(() => stopAll(services));
    const { url, stop } = await listen(createListener({ ...deps, streams, bodies }));
    closers.push(stop);
    const token = readFileSync(join(home, "admin.token"), "utf8").trim();
    return { deps, home, url, token, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openTestDeps(home: string, clock: TestClock): Promise<HubDeps> {
  await prepareHome(home);
  const settings = await loadHubSettings({ home, flags: {}, env: {} });
  const { database } = placesOf(home, settings);
  if (database.kind !== "file") throw new Error("a test hub keeps its jobs in a file");
  const { path } = database;
  return openDeps({
    home,
    version: manifest.version,
    settings,
    logger: silentLogger,
    clock,
    openStore: (macKey) => openSqliteInProcess({ path, macKey, show: showJobs }),
  });
}

async function listen(listener: Listener): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

/** A disk would take most of the time, and what is in this hub need not outlive the test. */
function memoryDir(): string {
  return existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
}
