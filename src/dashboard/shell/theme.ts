import { Store } from "../hub/store.ts";

type Theme = "light" | "dark";

const storageKey = "writ-theme";

/** Null follows the system. */
const chosen = new Store<Theme | null>(readChosen());

export function startTheme(): void {
  apply();
  addEventListener("storage", ({ key }) => {
    if (key !== storageKey) return;
    chosen.set(readChosen());
    apply();
  });
}

export function switchTheme(): void {
  const isDark = (chosen.get() ?? systemTheme()) === "dark";
  chosen.set(isDark ? "light" : "dark");
  localStorage.setItem(storageKey, isDark ? "light" : "dark");
  apply();
}

function apply(): void {
  const theme = chosen.get();
  if (theme === null) delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

function readChosen(): Theme | null {
  const kept = localStorage.getItem(storageKey);
  return kept === "light" || kept === "dark" ? kept : null;
}

function systemTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
