import type { mayOf } from "../hub/session.ts";
import { Store } from "../hub/store.ts";
import type { IconName } from "../parts/icon.tsx";
import type { Place } from "./router.ts";

type Entry = { path: string; label: string; icon: IconName; key: string };

/** The pages that this person may open, in their order. */
export function navigation(_may: ReturnType<typeof mayOf>): Entry[] {
  return [{ path: "/jobs", label: "Jobs", icon: "jobs", key: "j" }];
}

export function isIn({ path }: Place, page: string): boolean {
  return page === "/" ? path === "/" : path === page || path.startsWith(`${page}/`);
}

export const isPaletteOpen = new Store(false);

export function openPalette(): void {
  isPaletteOpen.set(true);
}
