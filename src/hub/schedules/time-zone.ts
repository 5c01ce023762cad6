import { invalidArgument } from "../../core/errors.ts";
import { utc, type Zone } from "../../core/schedules/occurrences.ts";

/** The place of an IANA name, by the zone data of this program. Why: ADR 0130. */
export function timeZone(name: string): Zone {
  if (name === "UTC") return utc;
  if (typeof Temporal === "undefined")
    throw invalidArgument({
      path: "time_zone",
      message: `"${name}" needs a hub on Node 26 or newer; this one knows only UTC`,
    });
  const known = zones.get(name);
  if (known !== undefined) return known;
  const zone = zoneOf(name);
  if (zones.size >= zonesMax) zones.clear();
  zones.set(name, zone);
  return zone;
}

/** There are about 600 names; letters may be written in either case. */
const zonesMax = 2_000;
const zones = new Map<string, Zone>();

function zoneOf(name: string): Zone {
  const at = (ms: number): Temporal.ZonedDateTime =>
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(name);
  check(name, at);
  return {
    label: `[${name}]`,
    offsetAt: (ms) => at(ms).offsetNanoseconds / 1_000_000,
    changeAfter: (ms) => at(ms).getTimeZoneTransition("next")?.epochMilliseconds ?? null,
    changeBefore: (ms) => at(ms + 1).getTimeZoneTransition("previous")?.epochMilliseconds ?? null,
  };
}

function check(name: string, at: (ms: number) => unknown): void {
  // +02:00 is no place: it has no rule by which its clock changes.
  if (/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) {
    try {
      at(0);
      return;
    } catch {
      // It is not in the zone data, which the error below says.
    }
  }
  throw invalidArgument({
    path: "time_zone",
    message: `"${name}" is not a time zone that is known here; use a name such as UTC, Europe/Berlin or America/New_York`,
  });
}
