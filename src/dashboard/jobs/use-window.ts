import { type RefObject, useEffect, useState } from "react";

/** Rows above and below the visible ones, so that scrolling does not show gaps. */
const spareRows = 8;

type RowWindow = { first: number; last: number; rowHeight: number };

/** Finds which rows are on the screen. The page itself scrolls; only these rows are in the document. */
export function useWindow(body: RefObject<HTMLElement | null>, rowCount: number): RowWindow {
  const [shown, setShown] = useState<RowWindow>({ first: 0, last: 40, rowHeight: rowHeightNow() });
  useEffect(() => {
    let frame = 0;
    const measure = () => {
      frame = 0;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const rowHeight = rowHeightNow();
      const first = Math.max(0, Math.floor(-top / rowHeight) - spareRows);
      const last = Math.min(rowCount, Math.ceil((innerHeight - top) / rowHeight) + spareRows);
      setShown((before) =>
        before.first === first && before.last === last && before.rowHeight === rowHeight
          ? before
          : { first, last: Math.max(first, last), rowHeight },
      );
    };
    const schedule = () => {
      if (frame === 0) frame = requestAnimationFrame(measure);
    };
    measure();
    addEventListener("scroll", schedule, { passive: true });
    addEventListener("resize", schedule);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", schedule);
      removeEventListener("resize", schedule);
    };
  }, [body, rowCount]);
  return shown;
}

/** As in jobs.css: two lines on a phone, tall rows for fingers, else 36 px. */
function rowHeightNow(): number {
  if (matchMedia("(max-width: 720px)").matches) return 61;
  return matchMedia("(pointer: coarse)").matches ? 48 : 36;
}
