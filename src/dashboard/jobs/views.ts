import { useMemo } from "react";
import { type Person, usePerson } from "../hub/session.ts";
import { Store, useStore } from "../hub/store.ts";
import type { PageAddress } from "../shell/router.ts";
import { filterNames } from "./job-filter.ts";

/** A view is a filter with a name, kept as an address. */
export type View = { name: string; href: string; inSidebar: boolean; isOwn: boolean };

const storageKey = "writ-views";
const ownMax = 20;
const own = new Store<{ name: string; query: string }[]>(readOwn());

/** The standard views, then those that were saved in this browser. */
export function useViews(): View[] {
  const person = usePerson();
  const saved = useStore(own);
  return useMemo(
    () => [
      ...standardViews(person),
      ...saved.map(({ name, query }) => ({ name, href: `/jobs?${query}`, inSidebar: true, isOwn: true })),
    ],
    [person, saved],
  );
}

function standardViews({ user_id, role }: Person): View[] {
  const view = (name: string, query: string, inSidebar = false) => ({
    name,
    href: query === "" ? "/jobs" : `/jobs?${query}`,
    inSidebar,
    isOwn: false,
  });
  return [
    view("All", ""),
    view("Waiting", "state=pending"),
    view("Scheduled", "state=scheduled"),
    view("Running", "state=assigned,running"),
    view("Failed", "state=failed"),
    view("Dead letters", "state=dead", true),
    view("Waiting over 1 min", "state=pending&until=1m", true),
    ...(role === "viewer"
      ? []
      : [view("Mine, today", `user=${encodeURIComponent(user_id)}&since=today`, true)]),
  ];
}

/** Whether the address has this view's filter, in any order. */
export function isShown(view: View, { query }: PageAddress): boolean {
  const wanted = new URLSearchParams(view.href.split("?")[1] ?? "");
  return filterNames.every((name) => (wanted.get(name) ?? "") === (query.get(name) ?? ""));
}

export function saveView(name: string, query: string): void {
  const others = own.get().filter((view) => view.name !== name);
  keep([...others, { name, query }].slice(-ownMax));
}

export function removeView(name: string): void {
  keep(own.get().filter((view) => view.name !== name));
}

function keep(views: { name: string; query: string }[]): void {
  own.set(views);
  localStorage.setItem(storageKey, JSON.stringify(views));
}

function readOwn(): { name: string; query: string }[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    if (!Array.isArray(kept)) return [];
    return kept.filter((view) => typeof view?.name === "string" && typeof view?.query === "string");
  } catch {
    // Another version of the page, or a person, wrote something that is not JSON.
    return [];
  }
}
