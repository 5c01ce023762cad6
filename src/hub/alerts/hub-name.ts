import { hostname } from "node:os";
import type { HubDeps } from "../deps.ts";

/** Names the hub for a person who has several: by its public address, else by its machine and home. */
export function hubName({
  settings,
  home,
}: { settings: { publicUrl: string | null } } & Pick<HubDeps, "home">): string {
  return settings.publicUrl ?? `${hostname()}:${home}`;
}
