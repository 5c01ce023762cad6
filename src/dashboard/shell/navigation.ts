import type { mayOf } from "../hub/session.ts";
import { Store } from "../hub/store.ts";
import type { IconName } from "../parts/icon.tsx";
import type { PageAddress } from "./router.ts";

type Entry = { path: string; label: string; icon: IconName; key: string };

/** The pages that this person may open, in their order. */
export function navigation({ seeFleet, administer, administerHub }: ReturnType<typeof mayOf>): Entry[] {
  const pages: (Entry & { isAllowed: boolean })[] = [
    { path: "/", label: "Overview", icon: "overview", key: "o", isAllowed: true },
    { path: "/jobs", label: "Jobs", icon: "jobs", key: "j", isAllowed: true },
    { path: "/fleet", label: "Fleet", icon: "fleet", key: "f", isAllowed: seeFleet },
    { path: "/queues", label: "Queues", icon: "queues", key: "q", isAllowed: administer },
    { path: "/audit", label: "Audit", icon: "audit", key: "a", isAllowed: administer },
    { path: "/access", label: "Keys and access", icon: "key", key: "k", isAllowed: true },
    { path: "/settings", label: "Settings", icon: "filters", key: "s", isAllowed: administerHub },
  ];
  return pages.filter(({ isAllowed }) => isAllowed);
}

export function isIn({ path }: Pick<PageAddress, "path">, page: string): boolean {
  return page === "/" ? path === "/" : path === page || path.startsWith(`${page}/`);
}

export const isPaletteOpen = new Store(false);

export function openPalette(): void {
  isPaletteOpen.set(true);
}
