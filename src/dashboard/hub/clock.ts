import { Store, useStore } from "./store.ts";

const tickMs = 1000;

/** One clock for the whole page, so that all ages change together and only once a second. */
const now = new Store(Date.now());
setInterval(() => {
  if (!document.hidden) now.set(Date.now());
}, tickMs);
document.addEventListener("visibilitychange", () => now.set(Date.now()));

export function useNow(): number {
  return useStore(now);
}
