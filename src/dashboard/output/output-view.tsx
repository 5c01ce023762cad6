import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useStore } from "../hub/store.ts";
import { LineLayout } from "./line-layout.ts";
import type { OutputBuffer } from "./output-buffer.ts";
import type { OutputSource } from "./output-source.ts";
import type { Span } from "./read-ansi.ts";

const rowHeight = 18;
const spareRows = 20;
/** The width of a character at 12 px, until the font has been measured. */
const charWidthGuess = 7.2;
const numberWidth = 62;

type Props = {
  source: OutputSource;
  isWrapped: boolean;
  isFollowing: boolean;
  onFollow: (isFollowing: boolean) => void;
  search: string;
  /** The offset of the match that is shown. */
  match: number | undefined;
  label: string;
};

/**
 * Text in rows of one height: only those on the screen are in the document, however long the stream is. Why: ADR 0046.
 */
export function OutputView(props: Props) {
  const { source, isWrapped, isFollowing, onFollow, search } = props;
  const { buffer, version, prepended, problem, isLive, isLoading } = useStore(source.state);
  const box = useRef<HTMLDivElement>(null);
  const { scrollTop, height, columns } = useBox(box);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the buffer changes in place, with its version.
  const layout = useMemo(
    () => new LineLayout(buffer.lines, isWrapped ? columns : Number.POSITIVE_INFINITY),
    [buffer, version, isWrapped, columns],
  );
  const match = lineAt(buffer, props.match);

  // biome-ignore lint/correctness/useExhaustiveDependencies: after each change of what is held.
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    if (prepended > 0) element.scrollTop += layout.rowOf(prepended) * rowHeight;
    else if (isFollowing) element.scrollTop = element.scrollHeight;
  }, [version, isFollowing, layout]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when another part is held.
  useEffect(() => {
    if (!isFollowing && props.match === undefined && box.current !== null) box.current.scrollTop = 0;
  }, [buffer]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when another match is looked at.
  useEffect(() => {
    if (match === undefined || box.current === null) return;
    onFollow(false);
    box.current.scrollTop = layout.rowOf(match) * rowHeight - height / 2;
  }, [props.match, buffer, search]);

  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - spareRows);
  const last = Math.min(layout.rowCount, Math.ceil((scrollTop + height) / rowHeight) + spareRows);
  const onScroll = () => {
    const element = box.current;
    if (element === null) return;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < rowHeight * 2;
    if (isAtEnd !== isFollowing) onFollow(isAtEnd);
    if (element.scrollTop < 400) void source.readOlder();
    if (isAtEnd) void source.readNewer();
  };
  return (
    <div
      className="terminal"
      ref={box}
      onScroll={onScroll}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: output scrolls, and the keyboard must reach it
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label={props.label}
    >
      <div className="terminal-rows" style={{ height: layout.rowCount * rowHeight }}>
        <div className="terminal-window" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, index) => {
            const { line, part } = layout.at(first + index);
            const number = part === 0 && buffer.firstNumber !== null ? buffer.firstNumber + line : "";
            return (
              <div className="terminal-row" key={`${line} ${part}`} data-number={number}>
                <span>
                  {layout.spans(line, part).map((span, place) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line have no other identity.
                    <Piece key={place} span={span} search={search} isAt={line === match} />
                  ))}
                </span>
              </div>
            );
          })}
        </div>
      </div>
      {buffer.lines.length === 0 ? (
        <p className="output-note">
          {problem ??
            (isLoading
              ? "Loading …"
              : isLive
                ? "Nothing was written here yet."
                : "Nothing was written here.")}
        </p>
      ) : null}
    </div>
  );
}

function Piece({ span, search, isAt }: { span: Span; search: string; isAt: boolean }) {
  if (span.isControl) return <span className="control-text">{span.text}</span>;
  const text = search === "" ? span.text : marked(span.text, { search, isAt });
  const look = [span.colour, span.isBold ? "bold" : null].filter((name) => name !== null).join(" ");
  return <span className={look === "" ? undefined : look}>{text}</span>;
}

function marked(text: string, { search, isAt }: { search: string; isAt: boolean }) {
  const parts = text.toLowerCase().split(search.toLowerCase());
  if (parts.length === 1) return text;
  let at = 0;
  return parts.map((part, index) => {
    const from = at;
    at += part.length + search.length;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line have no other identity.
      <span key={index}>
        {text.slice(from, from + part.length)}
        {index < parts.length - 1 ? (
          <mark className={isAt ? "at" : undefined}>{text.slice(from + part.length, at)}</mark>
        ) : null}
      </span>
    );
  });
}

/** The line that this place of the stream is in, if it is held. */
function lineAt({ lines, start, end }: OutputBuffer, offset: number | undefined): number | undefined {
  if (offset === undefined || offset < start || offset >= end) return undefined;
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle]!.offset <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

function useBox(box: RefObject<HTMLDivElement | null>) {
  const [measured, setMeasured] = useState({ scrollTop: 0, height: 344, columns: 120 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let frame = 0;
    const measure = () => {
      frame = 0;
      const columns = Math.max(20, Math.floor((element.clientWidth - numberWidth - 14) / charWidth(element)));
      setMeasured({ scrollTop: element.scrollTop, height: element.clientHeight, columns });
    };
    const schedule = () => {
      if (frame === 0) frame = requestAnimationFrame(measure);
    };
    const sizes = new ResizeObserver(schedule);
    sizes.observe(element);
    element.addEventListener("scroll", schedule, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      sizes.disconnect();
      element.removeEventListener("scroll", schedule);
    };
  }, [box]);
  return measured;
}

function charWidth(element: HTMLElement): number {
  const canvas = document.createElement("canvas").getContext("2d");
  if (canvas === null) return charWidthGuess;
  canvas.font = getComputedStyle(element).font;
  return canvas.measureText("0".repeat(100)).width / 100 || charWidthGuess;
}
