import { useCallback, useRef, useState } from "react";
import { countText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { foundMax } from "./use-found.ts";

type OutputSearch = ReturnType<typeof useOutputSearch>;

/** The text that is searched for in the output, the number of matches, and the match that is shown. */
export function useOutputSearch() {
  const [text, setText] = useState("");
  const [found, setFound] = useState(unsearched);
  const field = useRef<HTMLInputElement>(null);
  // The last match is shown first, unless there are too many to have found it. Matches that are found later do not move
  // the view.
  const onFound = useCallback(
    (count: number, isDone: boolean) =>
      setFound(({ at }) => ({
        count,
        isDone,
        at: at < 0 && isDone && count < foundMax ? count - 1 : Math.min(at, count - 1),
      })),
    [],
  );
  const step = (by: number) =>
    setFound(({ count, at, isDone }) => ({ count, isDone, at: nextMatch({ count, at }, by) }));
  const searchFor = (wanted: string) => {
    setText(wanted);
    setFound(unsearched);
  };
  return { text, found, field, onFound, step, searchFor, focus: () => field.current?.focus() };
}

export function SearchField({ search }: { search: OutputSearch }) {
  const { text, found, field, step, searchFor } = search;
  return (
    <>
      <label className="find inner">
        <Icon name="search" />
        <input
          ref={field}
          value={text}
          placeholder="Search"
          aria-label="Search the output"
          spellCheck={false}
          onChange={(event) => searchFor(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") searchFor("");
          }}
        />
        {text === "" ? (
          <kbd className="not-phone">Ctrl F</kbd>
        ) : (
          <span className="dimmer matches" role="status">
            {foundText(found)}
          </span>
        )}
      </label>
      {found.count > 1 ? <MatchSteps onStep={step} /> : null}
    </>
  );
}

type MatchPosition = { count: number; at: number };
const unsearched = { count: 0, at: -1, isDone: false };

function nextMatch({ count, at }: MatchPosition, by: number): number {
  if (count === 0) return -1;
  return at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count;
}

function foundText({ count, at, isDone }: MatchPosition & { isDone: boolean }): string {
  if (!isDone) return count === 0 ? "searching …" : `${countText(count)} so far …`;
  if (count === 0) return "none";
  const counted = `${countText(count)}${count >= foundMax ? "+" : ""}`;
  return at < 0 ? counted : `${countText(at + 1)} of ${counted}`;
}

function MatchSteps({ onStep }: { onStep: (by: number) => void }) {
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label="Earlier match"
        title="Earlier match (Shift Enter)"
        onClick={() => onStep(-1)}
      >
        <Icon name="up" />
      </button>
      <button
        type="button"
        className="icon-button turned"
        aria-label="Later match"
        title="Later match (Enter)"
        onClick={() => onStep(1)}
      >
        <Icon name="up" />
      </button>
    </>
  );
}
