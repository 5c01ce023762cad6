import type { MouseEvent } from "react";
import { Store, useStore } from "../hub/store.ts";
import { pushEntry, restoreScroll } from "./scroll-memory.ts";

/** Everything that a page shows is in its address, so that a link shows the same to somebody else. */
export type Place = { path: string; query: URLSearchParams };

const place = new Store<Place>(read());
addEventListener("popstate", () => {
  place.set(read());
  restoreScroll();
});
addEventListener("hashchange", () => place.set(read()));

function read(): Place {
  openHashPath();
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Pages of many programs are at `/#/jobs`, and people type it: it opens `/jobs`. */
function openHashPath(): void {
  if (!location.hash.startsWith("#/")) return;
  const { origin, pathname, search } = new URL(location.hash.slice(1), location.origin);
  if (origin === location.origin) history.replaceState(null, "", pathname + search);
}

export function usePlace(): Place {
  return useStore(place);
}

/** Shows another page. `replace` changes the address without a step to go back to. */
export function go(to: string, { replace = false } = {}): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(history.state, "", to);
  else pushEntry(to);
  const before = place.get().path;
  place.set(read());
  if (!replace && place.get().path !== before) scrollTo(0, 0);
}

/** The same page with some parts of its query changed; null removes one. */
export function withQuery(place: Place, changes: Record<string, string | null>): string {
  const query = new URLSearchParams(place.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return text === "" ? place.path : `${place.path}?${text}`;
}

/** Follows links inside the page without loading it again; other clicks stay the browser's. */
export function followLink(event: MouseEvent<HTMLElement>): void {
  const link = (event.target as HTMLElement).closest("a");
  if (link === null || link.target !== "" || link.hasAttribute("download") || event.defaultPrevented) return;
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!isPlain || link.origin !== location.origin || link.pathname.startsWith("/api")) return;
  if (link.hash !== "" && link.pathname === location.pathname) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
