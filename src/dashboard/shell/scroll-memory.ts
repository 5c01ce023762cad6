/**
 * The scroll position of each entry of the history. The browser's own memory fails here: it restores a position before
 * the page has the rows that make it tall enough.
 */
const places = new Map<number, number>();
let entry = entryNow();
let isRestoring = false;
/** How long rows may take to load; after that the position is not restored. */
const restoreMsMax = 30_000;

history.scrollRestoration = "manual";
addEventListener(
  "scroll",
  () => {
    if (!isRestoring) places.set(entry, scrollY);
  },
  { passive: true },
);

export function pushEntry(to: string): void {
  entry = Date.now();
  history.pushState({ entry }, "", to);
}

/** After a step in the history, scrolls to the position of that entry as soon as the page is tall enough. */
export function restoreScroll(): void {
  entry = entryNow();
  const wanted = places.get(entry) ?? 0;
  const endsAt = performance.now() + restoreMsMax;
  const byHand = new AbortController();
  const { signal } = byHand;
  for (const name of ["wheel", "touchstart", "keydown", "pointerdown"])
    addEventListener(name, () => byHand.abort(), { signal, passive: true });
  isRestoring = true;
  const step = () => {
    if (!signal.aborted) scrollTo(0, wanted);
    if (!signal.aborted && Math.abs(scrollY - wanted) > 1 && performance.now() < endsAt) {
      requestAnimationFrame(step);
      return;
    }
    byHand.abort();
    isRestoring = false;
  };
  requestAnimationFrame(step);
}

function entryNow(): number {
  const state = history.state as { entry?: number } | null;
  return state?.entry ?? 0;
}
