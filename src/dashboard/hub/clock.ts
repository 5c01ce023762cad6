import { useSyncExternalStore } from "react";
import { Store, useStore } from "./store.ts";

const tickMs = 1000;

/** One clock for the whole page, so that all ages change together and only once a second. */
export const clock = new Store(Date.now());
setInterval(() => {
  if (!document.hidden) clock.set(Date.now());
}, tickMs);
document.addEventListener("visibilitychange", () => clock.set(Date.now()));

/** Renders its component again each second. Where only a passing time is shown, `Ticking` costs less. */
export function useNow(): number {
  return useStore(clock);
}

/** Whether this moment has passed. The component renders again only when that changes. */
export function useHasPassed(ms: number): boolean {
  return useSyncExternalStore(clock.subscribe, () => clock.get() >= ms);
}
