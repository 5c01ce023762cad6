import { type ComponentProps, useEffect, useLayoutEffect, useRef } from "react";
import { clock } from "../hub/clock.ts";

type Props = Omit<ComponentProps<"span">, "children"> & {
  /** The text at a moment. */
  text: (nowMs: number) => string;
};

/**
 * A text that changes as time passes. The clock writes it into the document, only when it changes: otherwise React
 * would render a screen full of ages each second.
 */
export function Ticking({ text, ...rest }: Props) {
  const element = useRef<HTMLSpanElement>(null);
  const latest = useRef(text);
  latest.current = text;
  const draw = useRef(() => {
    const span = element.current;
    const shown = latest.current(clock.get());
    if (span === null || span.textContent === shown) return;
    // The text node is kept, so that selected text stays selected.
    if (span.firstChild === null) span.textContent = shown;
    else span.firstChild.nodeValue = shown;
  });
  useLayoutEffect(draw.current);
  useEffect(() => clock.subscribe(draw.current), []);
  return <span ref={element} {...rest} />;
}
