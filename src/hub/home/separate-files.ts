import type { Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";

type Places = Pick<HubDeps, "objects" | "leadership">;

const advice = "set the same WRIT_S3_ENDPOINT and WRIT_S3_BUCKET at all hubs";

/** Whether each of several hubs keeps files in its own home, where the others do not find them. */
export function areFilesSeparate({ objects, leadership }: Places): boolean {
  return objects.servedBy === "hub" && leadership.hubs.length > 1;
}

/** What is wrong with that, and what to do; null if nothing is. */
export function separateFilesWarning(places: Places): string | null {
  if (!areFilesSeparate(places)) return null;
  const count = places.leadership.hubs.length;
  return `${count} hubs serve this database, and each keeps files in its own home: jobs with files fail at a hub that does not have them; ${advice}`;
}

/** For somebody who asks for a file that is known and not here. */
export const askOtherHub = `this hub does not have them, and of several hubs each keeps files in its own home; ask the hub that received them, or ${advice}`;

/** Logs the warning when a second hub comes, at each of them. */
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
