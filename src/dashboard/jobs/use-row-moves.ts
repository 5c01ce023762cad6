import { type RefObject, useState } from "react";
import { useKeys } from "../shell/keys.ts";
import { go } from "../shell/router.ts";

type Options = {
  body: RefObject<HTMLElement | null>;
  rows: readonly { id: string }[];
  onSelect: ((id: string) => void) | undefined;
  /** Undefined if nothing is selected. */
  onClear: (() => void) | undefined;
};

/** The index of the row with the keyboard focus, or -1. J and K move it, Enter opens the row and X selects it. */
export function useRowMoves({ body, rows, onSelect, onClear }: Options): number {
  const [current, setCurrent] = useState(-1);
  const move = (step: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, current + step));
    setCurrent(next);
    requestAnimationFrame(() => {
      const row = body.current?.querySelector<HTMLElement>(`[aria-rowindex="${next + 2}"]`);
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
    });
  };
  const at = rows[current];
  useKeys({
    j: () => move(1),
    arrowdown: () => move(1),
    k: () => move(-1),
    arrowup: () => move(-1),
    enter: at && (() => go(`/jobs/${at.id}`)),
    x: onSelect && at ? () => onSelect(at.id) : undefined,
    escape: onClear ?? (() => setCurrent(-1)),
  });
  return current;
}
