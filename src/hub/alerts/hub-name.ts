import { hostname } from "node:os";
import type { HubDeps } from "../deps.ts";

/** Tells a person who has several hubs which one writes: by its public address, else by its machine and home. */
export function hubName({
  settings,
  home,
}: { settings: { publicUrl: string | null } } & Pick<HubDeps, "home">): string {
  return settings.publicUrl ?? `${hostname()}:${home}`;
}
