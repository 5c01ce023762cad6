import { repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";
import { sendAtOnce } from "./alarm.ts";
import type { Channel } from "./channel.ts";
import { hubName } from "./hub-name.ts";
import { compareTroubles, type ToldTroubles, type Trouble, troubleText } from "./troubles.ts";

const roundMs = 1_000;
/** A restart of the database, or a new connection to it, takes less than this and is not reported. */
const graceMs = 5_000;

type WatchDeps = Pick<HubDeps, "clock" | "logger" | "outage" | "failures" | "home"> & {
  settings: Pick<HubDeps["settings"], "publicUrl">;
};

/**
 * Alerts people when the database is away or a disk of the hub is full: once when that begins and once when it ends.
 * The outbox is in that database, so these messages bypass it; each hub reports what it has found itself.
 */
export function createOutageWatch(deps: WatchDeps, channels: readonly Channel[]): Service {
  const { clock, outage, failures, home } = deps;
  const onError = (error: unknown) => failures.error(error, "people could not be told of an outage");
  let told: ToldTroubles = {};
  let awaySinceMs: number | null = null;
  return repeat({ name: "outage watch", intervalMs: roundMs, clock, onError }, async (signal) => {
    awaySinceMs = outage.isOn ? (awaySinceMs ?? clock.monotonicMs()) : null;
    const isAway = awaySinceMs !== null && clock.monotonicMs() - awaySinceMs >= graceMs;
    const found: Trouble[] = [
      ...(isAway ? [trouble("DATABASE_AWAY", home, "the database is away")] : []),
      ...(outage.isDiskFull ? [trouble("DISK_FULL", "database", "the disk of the database is full")] : []),
      ...(outage.isStorageFull
        ? [trouble("DISK_FULL", "outputs and files", "a disk for outputs or files is full")]
        : []),
    ];
    const nowMs = clock.nowMs();
    const compared = compareTroubles(told, found, { kinds: ["DATABASE_AWAY", "DISK_FULL"], nowMs });
    // Before the messages are sent, so that a failure to send them does not repeat them.
    told = compared.told;
    for (const report of compared.reports)
      await sendAtOnce(deps, channels, signal, troubleText(report, { nowMs, hub: hubName(deps) }));
  });
}

function trouble(kind: Trouble["kind"], subject: string, says: string): Trouble {
  return { kind, subject, says };
}
