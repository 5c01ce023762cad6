import { shortenMarks } from "./audit/audit-marks.ts";
import type { HubDeps } from "./deps.ts";
import { removeHubFile } from "./home-lock.ts";
import { enforceLockdown } from "./use-cases/access/lockdown.ts";
import { recallLeases } from "./use-cases/access/manage-keys.ts";

/**
 * What a hub does about its past, before anybody can call it. The one before it may have stopped in order, been killed
 * at any moment or lost power. Nobody knows which, so every start does the same; a step that is cut short is done again
 * by the next start.
 *
 * Some of the past needs nothing here. The database takes back what was not committed when it is opened, files are
 * replaced whole or not at all, and the kernel frees the lock of a dead process.
 *
 * What takes long, and hurts nobody meanwhile, is left to services:
 *
 * - storage looks through all outputs for sizes that were not noted, output whose removal was cut short, and output of
 *   jobs that are gone (services/output-survey.ts);
 * - the sealer continues the audit chain where it ended, and signs its head (audit/sealer.ts);
 * - retention removes records of the trail that are in a file already (audit/move-cold.ts);
 * - responder and senders continue at their own places in the log and in the outbox (alerts/);
 * - reaper, scheduler and key watch do what has become due meanwhile.
 */
export async function recover(deps: HubDeps): Promise<void> {
  // Whoever reads it would call a hub that is gone, or somebody else who listens there by now.
  removeHubFile(deps.home);
  // All leases first: of each of them the output may not be synced, also of those that are taken back next.
  await renewLeases(deps);
  await recallVoidLeases(deps);
  await finishLockdown(deps);
  // A power failure can leave half a line at the end of the signed heads.
  await shortenMarks(deps.home);
}

/** A restart must cost no job an attempt: workers could not renew while there was no hub. */
async function renewLeases({ store, outputs, clock, settings, logger }: HubDeps): Promise<void> {
  const { extended } = await store.graceLeases({ nowMs: clock.nowMs(), leaseMs: settings.leaseMs });
  if (extended.length > 0)
    logger.info({ extended: extended.length }, "leases that outlived the restart begin anew");
  outputs.assumeUnsynced(extended);
}

/** A key may have been revoked in an emergency by a hub that did not live to take back what it had leased with it. */
async function recallVoidLeases(deps: HubDeps): Promise<void> {
  for (const keyId of deps.keys.voided()) await recallLeases(deps, { keyId, origin: null });
}

/** A lockdown is written down first, and then every lease is taken back. */
async function finishLockdown(deps: HubDeps): Promise<void> {
  if ((await deps.store.getLockdown()) !== null) await enforceLockdown(deps);
}
