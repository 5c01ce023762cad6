import { existsSync } from "node:fs";
import { join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { certPaths } from "./cert-paths.ts";

/** Refuses a folder that `writ certs issue` made for a person: an authority in it would take the place of the hub's. */
export function checkHubHome(home: string): void {
  if (!existsSync(join(home, "client.key")) || existsSync(certPaths(home).caKey)) return;
  throw new WritError(
    "CONFIG_INVALID",
    `${home} is not a hub's home: it has no certs/ca.key; run this on the hub's machine`,
  );
}
