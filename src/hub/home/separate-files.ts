import type { Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";

type FileDeps = Pick<HubDeps, "objects" | "leadership">;

const advice = "set the same WRIT_S3_ENDPOINT and WRIT_S3_BUCKET at all hubs";

/** Whether several hubs keep files in their own homes, where the others do not find them. */
export function areFilesSeparate({ objects, leadership }: FileDeps): boolean {
  return objects.servedBy === "hub" && leadership.hubs.length > 1;
}

/** The warning about separate files, with advice; null if there is no problem. */
export function separateFilesWarning(places: FileDeps): string | null {
  if (!areFilesSeparate(places)) return null;
  const count = places.leadership.hubs.length;
  return `${count} hubs serve this database, and each keeps files in its own home: jobs with files fail at a hub that does not have them; ${advice}`;
}

/** The advice for a request of a file that is known and not here. */
export const askOtherHub = `this hub does not have them, and of several hubs each keeps files in its own home; ask the hub that received them, or ${advice}`;

/** Logs the warning at each hub when a second one starts. */
export function createFilesWarning(deps: HubDeps): Service {
  let isTold = false;
  let stopListening: () => void = () => {};
  const look = (): void => {
    const warning = separateFilesWarning(deps);
    if (warning !== null && !isTold) deps.logger.warn(warning);
    isTold = warning !== null;
  };
  return {
    name: "files warning",
    async start() {
      stopListening = deps.leadership.onChange(look);
    },
    async stop() {
      stopListening();
    },
  };
}
