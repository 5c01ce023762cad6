import type { MouseEvent } from "react";
import { Store, useStore } from "../hub/store.ts";
import { pushEntry, restoreScroll } from "./scroll-memory.ts";

/** Everything that a page shows is in its address, so that a link shows the same to another person. */
export type PageAddress = { path: string; query: URLSearchParams };

const address = new Store<PageAddress>(read());
addEventListener("popstate", () => {
  address.set(read());
  restoreScroll();
});
addEventListener("hashchange", () => address.set(read()));

function read(): PageAddress {
  openHashPath();
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Opens `/jobs` for `/#/jobs`, which people type because many programs have such addresses. */
function openHashPath(): void {
  if (!location.hash.startsWith("#/")) return;
  const { origin, pathname, search } = new URL(location.hash.slice(1), location.origin);
  if (origin === location.origin) history.replaceState(null, "", pathname + search);
}

export function usePageAddress(): PageAddress {
  return useStore(address);
}

/** Shows another page. `replace` changes the address without a step to go back to. */
export function go(to: string, { replace = false } = {}): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(history.state, "", to);
  else pushEntry(to);
  const before = address.get().path;
  address.set(read());
  if (!replace && address.get().path !== before) scrollTo(0, 0);
}

/** The same page with some parts of its query changed; null removes one. */
export function withQuery(address: PageAddress, changes: Record<string, string | null>): string {
  const query = new URLSearchParams(address.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return text === "" ? address.path : `${address.path}?${text}`;
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
