import { useEffect, useRef } from "react";

/** The act of each key on this page: `j`, `ctrl+k`, `enter`, or two in a row such as `g j`. */
export type KeyMap = Record<string, (() => void) | undefined>;

const sequenceMs = 1500;

/** Keys work everywhere except inside fields and dialogs, where they are text. */
export function useKeys(keys: KeyMap): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let before = { key: "", at: 0 };
    const onKey = (event: KeyboardEvent) => {
      const name = nameOf(event);
      if (name === null) return;
      const isSequence = event.timeStamp - before.at < sequenceMs;
      const act = (isSequence ? latest.current[`${before.key} ${name}`] : undefined) ?? latest.current[name];
      before = { key: name, at: event.timeStamp };
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function nameOf(event: KeyboardEvent): string | null {
  const { key, target } = event;
  if (event.isComposing || event.defaultPrevented || event.altKey) return null;
  if (event.ctrlKey || event.metaKey) return `ctrl+${key.toLowerCase()}`;
  const element = target instanceof Element ? target : null;
  if (element?.closest("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]"))
    return null;
  // Enter and space belong to the button or link that has the focus.
  if ((key === "Enter" || key === " ") && element?.closest("button, a, input, summary")) return null;
  return key.toLowerCase();
}
