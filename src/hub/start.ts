import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import type { Ids } from "../core/ids.ts";
import { type Clock, systemClock } from "../runtime/clock/clock.ts";
import { steadyClock } from "../runtime/clock/steady-clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import type { FileLock } from "../runtime/files/file-lock.ts";
import { openLogger } from "../runtime/log/logger.ts";
import { startAll, stopAll } from "../runtime/service.ts";
import { hasMacKey } from "../signing/key-files.ts";
import { DatabaseInUse } from "../store/database/database-in-use.ts";
import type { HubSeat } from "../store/database/hub-seat.ts";
import { certificateRequest } from "./certs/certificate-request.ts";
import { openHubTls } from "./certs/hub-tls.ts";
import { checkHistory, readHistory, refuseOtherKeys } from "./database/database-history.ts";
import { planMigration, takeSeat } from "./database/open-database.ts";
import type { HubDeps } from "./deps.ts";
import { clearLeftovers } from "./home/clear-leftovers.ts";
import { applyQuotas, ensureAdminToken, prepareHome } from "./home/first-start.ts";
import { lockHome } from "./home/home-lock.ts";
import { separateFilesWarning } from "./home/separate-files.ts";
import { hubServices } from "./hub-services.ts";
import type { OnProgress } from "./migrate/copy-parts.ts";
import { takeOverAtStart } from "./migrate/take-over-at-start.ts";
import { openDeps } from "./open-deps.ts";
import { openPorts } from "./open-ports.ts";
import { recover } from "./recover.ts";
import { followDatabase } from "./services/clock-watch.ts";
import { type HubSettings, loadHubSettings, placesOf } from "./settings/settings.ts";

export { startForwarding } from "./forward/start-forwarding.ts";

type HubStart = {
  home: string;
  flags: Record<string, string | undefined>;
  env: Record<string, string | undefined>;
  osUser: string;
  version: string;
  /** The last record that a person accepts, although the home knows later ones. */
  acceptLoss?: number | undefined;
  /** Called with a sentence for the person who started the hub, while it runs. */
  onNotice?: (line: string) => void;
  /** Is called while the database gets another form. What it throws ends the start, and the next one continues. */
  onTakeOver?: OnProgress;
  clock?: Clock;
  ids?: Ids;
  failpoint?: Failpoint;
};

type RunningHub = {
  url: string;
  /** The address for programs on this machine. */
  localUrl: string;
  port: number;
  grpcPort: number;
  home: string;
  settings: HubSettings;
  /** Warnings for the person who started the hub, one sentence each. */
  warnings: readonly string[];
  /** Lets open calls end, then closes everything. */
  stop(): Promise<void>;
};

/**
 * Starts a hub for a home: settings, lock, certificates, keys, database, recovery, and then everything that runs.
 * Why: ADR 0023, ADR 0083.
 */
export async function startHub(start: HubStart): Promise<RunningHub> {
  await prepareHome(start.home);
  const settings = await loadHubSettings(start);
  const lock = lockHome(start.home);
  try {
    const inUse = new DatabaseInUse();
    const seat = await takeSeat(placesOf(start.home, settings).database, { home: start.home, inUse });
    return await startSeated(start, settings, { seat, inUse, lock }).catch(async (error) => {
      await seat.leave();
      throw error;
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

type Held = { seat: HubSeat; inUse: DatabaseInUse; lock: FileLock };

async function startSeated(
  start: HubStart,
  settings: HubSettings,
  { seat, inUse, lock }: Held,
): Promise<RunningHub> {
  const { home, version, osUser } = start;
  const { database, keysDir } = placesOf(home, settings);
  // Before anything is created or changed in the home: it throws if the database is too old for this version.
  const plan = await planMigration(database);
  const clock = steadyClock(start.clock ?? systemClock);
  const logger = openLogger({ file: join(home, "logs", "hub.log"), level: settings.logLevel });
  followDatabase(clock, await seat.readClock(), logger);
  const tls = await openHubTls(
    home,
    settings,
    certificateRequest(settings, { osUser, nowMs: clock.nowMs() }),
  );
  // If the folder of the keys is not mounted, new keys would be the wrong ones.
  if (!hasMacKey(keysDir)) refuseOtherKeys({ database, keysDir }, plan);
  const acceptance = { acceptLoss: start.acceptLoss ?? null };
  const history = await readHistory({ home, database, keysDir }, acceptance);
  const { onTakeOver = () => {}, onNotice = () => {} } = start;
  // Before the database gets another form, which needs the room that they take.
  const { wasSampleKilled } = await clearLeftovers({ home, settings, nowMs: clock.nowMs(), logger });
  const toTakeOver = { home, database, keysDir, plan, wasSampleKilled };
  await takeOverAtStart({ ...toTakeOver, logger, onProgress: onTakeOver, onNotice });
  const deps = await openDeps({ ...start, clock, settings, logger, seat, inUse });
  const close = async (): Promise<void> => {
    await deps.objects.close();
    await deps.outputs.appended.close();
    await deps.leadership.stop();
    await deps.store.close();
    lock.release();
    logger.info("the hub has stopped");
    logger.close();
  };
  try {
    await deps.leadership.start();
    await checkHistory(deps, history, { ...acceptance, database });
    await applyQuotas(deps, settings.quotas);
    await ensureAdminToken(deps, { secret: settings.adminToken, osUser });
    await recover(deps);
    const ports = openPorts(deps, tls);
    const services = hubServices(deps, { ...ports, tls, osUser, clock });
    await startAll(services);
    const { url, localUrl = url, port } = ports.http;
    const grpcPort = ports.rpc.port;
    logger.info({ url, grpc_port: grpcPort, version }, "the hub has started");
    void checkObjects(deps);
    const warning = separateFilesWarning(deps);
    const warnings = warning === null ? [] : [warning];
    const stop = () => stopAll(services).finally(close);
    return { url, localUrl, port, grpcPort, home, settings, warnings, stop };
  } catch (error) {
    // The start has failed; an error of the close would hide why.
    await close().catch(() => {});
    throw error;
  }
}

/** Reports an object store that does not answer. Jobs without files run without it. */
async function checkObjects({ objects, failures }: HubDeps): Promise<void> {
  try {
    await objects.check();
  } catch (error) {
    const details = error instanceof WritError ? error.details : undefined;
    failures.error(error, "files cannot be stored at present", { details });
  }
}
