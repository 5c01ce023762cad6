import { shortenMarks } from "./audit/audit-marks.ts";
import type { HubDeps } from "./deps.ts";
import { removeHubFile } from "./home/home-lock.ts";
import { checkKeyVersion } from "./key-version.ts";
import { enforceLockdown } from "./use-cases/access/lockdown.ts";
import { followGivenKey, recallLeases } from "./use-cases/access/manage-keys.ts";

/**
 * Repairs what the previous run of the hub left, before the ports open. That run may have stopped in order, been killed at any moment or lost power. The hub cannot know which, so every start does the same; a step that is interrupted is done again by the next start.
 *
 * Some of this needs nothing here: the database rolls back uncommitted changes when it is opened, files are replaced completely or not at all, and the kernel releases the lock of a dead process.
 *
 * Work that takes long, and does no harm meanwhile, is left to services:
 *
 * - storage scans all outputs for sizes that were not recorded, output whose removal was interrupted, and output of
 *   deleted jobs (services/storage/output-survey.ts);
 * - the sealer continues the audit chain where it ended, and signs its head (audit/sealer.ts);
 * - retention removes records of the trail that are already in a file (audit/move-cold.ts);
 * - responder and senders continue at their own positions in the log and in the outbox (alerts/);
 * - reaper, scheduler and key watch do what has become due meanwhile. Why: ADR 0007, ADR 0033.
 */
export async function recover(deps: HubDeps): Promise<void> {
  // Otherwise a program that reads it would call a hub that has gone, or another server at the same port.
  removeHubFile(deps.home);
  // All leases first: the output of any of them may not be synced, even if it is taken back next.
  if (deps.leadership.hubs.length === 0) await renewLeases(deps);
  await recallVoidLeases(deps);
  await finishLockdown(deps);
  // A power failure can leave half a line at the end of the signed heads.
  await shortenMarks(deps.home);
  await checkKeyVersion(deps);
  await followGivenKey(deps);
}

/**
 * A restart must not cost a job an attempt: workers could not renew while there was no hub, and a lease that has
 * expired is refused. The reaper does it again when the ports listen, because the grace period counts from there. While
 * another hub serves the same database, workers can renew there.
 */
async function renewLeases({ store, outputs, clock, settings, logger }: HubDeps): Promise<void> {
  const { extended } = await store.graceLeases({ nowMs: clock.nowMs(), leaseMs: settings.leaseMs });
  if (extended.length > 0)
    logger.info({ extended: extended.length }, "leases that survived the restart were extended");
  outputs.appended.assumeUnsynced(extended);
}

/** A key may have been revoked in an emergency by a hub that died before it took back the leases made with it. */
async function recallVoidLeases(deps: HubDeps): Promise<void> {
  for (const keyId of deps.keys.voided()) await recallLeases(deps, { keyId, origin: null });
}

/** A lockdown is stored first, and then every lease is taken back. */
async function finishLockdown(deps: HubDeps): Promise<void> {
  if ((await deps.store.getLockdown()) !== null) await enforceLockdown(deps);
}
