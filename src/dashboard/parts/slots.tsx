import { plural } from "./format.ts";

const drawnMax = 32;

/** The slots of a worker, one box each. */
export function Slots({ total, busy, isGone }: { total: number; busy: number; isGone: boolean }) {
  const label = isGone ? `${plural(total, "slot")}, unknown` : `${busy} of ${plural(total, "slot")} in use`;
  const drawn = Math.min(total, drawnMax);
  const filled = Math.round((busy / Math.max(1, total)) * drawn);
  return (
    <span className={drawn > 8 ? "slots small-slots" : "slots"} role="img" aria-label={label}>
      {Array.from({ length: drawn }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: slots have no identity.
        <i key={index} className={isGone ? "gone" : index < filled ? "busy" : undefined} />
      ))}
    </span>
  );
}
