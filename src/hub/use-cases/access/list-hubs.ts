import type { HubsView } from "../../../contract/shapes/admin-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";
import { placesOf } from "../../settings/settings.ts";

/** The database, the hubs that serve it, and where they keep files. */
export async function listHubs(deps: HubDeps, identity: Identity): Promise<HubsView> {
  if (identity.tenantId !== null)
    throw new WritError(
      "PERMISSION_DENIED",
      "only an administrator of the hub can list the hubs: they serve all tenants",
    );
  const { schemaVersion, server } = await deps.store.ping();
  return {
    database: { kind: databaseKind(deps), server, schema_version: schemaVersion },
    files: deps.objects.servedBy === "hub" ? "home" : "store",
    hubs: deps.leadership.hubs.map(({ name, url, version, startedAt, isLeader }) => ({
      name,
      url,
      version,
      started_at: startedAt,
      leader: isLeader,
    })),
  };
}

export function databaseKind({
  home,
  settings,
}: Pick<HubDeps, "home" | "settings">): "sqlite" | "postgresql" {
  return placesOf(home, settings).database.kind === "file" ? "sqlite" : "postgresql";
}
