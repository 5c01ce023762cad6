import type { Severity } from "../../core/events.ts";

/** Bars and a word, so that colour is not needed to read the severity. */
export function SeverityBadge({ severity }: { severity: Severity }) {
  return (
    <span className={`severity ${severity}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <use href={`#severity-${severity.toLowerCase()}`} />
      </svg>
      {severity.charAt(0) + severity.slice(1).toLowerCase()}
    </span>
  );
}
