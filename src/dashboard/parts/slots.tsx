import { plural } from "./format.ts";

const drawnMax = 32;

/** The slots of a worker, one box each. `busy` is null where it is hidden. */
export function Slots({ total, busy, isGone }: { total: number; busy: number | null; isGone: boolean }) {
  const isUnknown = isGone || busy === null;
  const label = isUnknown
    ? `${plural(total, "slot")}, unknown`
    : `${busy} of ${plural(total, "slot")} in use`;
  const drawn = Math.min(total, drawnMax);
  const filled = Math.round(((busy ?? 0) / Math.max(1, total)) * drawn);
  return (
    <span className={drawn > 8 ? "slots small-slots" : "slots"} role="img" aria-label={label}>
      {Array.from({ length: drawn }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: slots have no identity.
        <i key={index} className={isUnknown ? "gone" : index < filled ? "busy" : undefined} />
      ))}
    </span>
  );
}
