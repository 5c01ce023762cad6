import { useSyncExternalStore } from "react";
import { clock } from "./clock.ts";
import { link } from "./live-feed.ts";

/** The page shows a lost stream after `quietMs`, and after `staleMs` also how old its data is. */
const quietMs = 2_000;
const staleMs = 10_000;

type LinkState = "live" | "again" | "stale";

/** Whether the page is up to date. The component renders again only when that changes, not each second. */
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
