/**
 * Where each entry of the history was scrolled to. The browser's own memory fails here: it restores a place before the rows
 * are there that make the page tall enough.
 */
const places = new Map<number, number>();
let entry = entryNow();
let isRestoring = false;
/** How long rows may take to come back; after that, the page stays where it is. */
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

/** After a step in the history: back to where that entry was, as soon as the page reaches so far. */
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
