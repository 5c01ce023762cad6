import { useSyncExternalStore } from "react";
import { clock } from "./clock.ts";
import { link } from "./live-feed.ts";

/** A short cut is not worth a word; a longer one is shown, and after this long the page says how old it is. */
const quietMs = 2_000;
const staleMs = 10_000;

type LinkState = "live" | "again" | "stale";

/** Whether what is shown is still true. The component is drawn again only when that changes, not each second. */
export function useLinkState(): LinkState {
  return useSyncExternalStore(subscribe, linkState);
}

function subscribe(listener: () => void): () => void {
  const stops = [link.subscribe(listener), clock.subscribe(listener)];
  return () => {
    for (const stop of stops) stop();
  };
}

function linkState(): LinkState {
  const { lostAt } = link.get();
  if (lostAt === null) return "live";
  const lostMs = lostMsAt(clock.get());
  return lostMs < quietMs ? "live" : lostMs < staleMs ? "again" : "stale";
}

/** How long the hub has been away at this moment. */
export function lostMsAt(nowMs: number): number {
  const { lostAt } = link.get();
  return lostAt === null ? 0 : Math.max(0, nowMs - lostAt);
}
