import { useSyncExternalStore } from "react";
import { Store, useStore } from "./store.ts";

const tickMs = 1000;

/** One clock for the whole page, so that all ages change together and only once a second. */
export const clock = new Store(Date.now());
setInterval(() => {
  if (!document.hidden) clock.set(Date.now());
}, tickMs);
document.addEventListener("visibilitychange", () => clock.set(Date.now()));

/** Draws its component again each second; what shows only a time that passes is `Ticking`. */
export function useNow(): number {
  return useStore(clock);
}

/** Whether this moment is over. Its component is drawn again only when that changes. */
export function useHasPassed(ms: number): boolean {
  return useSyncExternalStore(clock.subscribe, () => clock.get() >= ms);
}
