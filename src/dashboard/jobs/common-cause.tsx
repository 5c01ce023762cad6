import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { StateIcon } from "../parts/state.tsx";
import { foundAs } from "./job-filter.ts";

/** A person sees at a glance what fewer rows have in common. */
const rowsMin = 3;

/** Names the cause that most of the shown failures have in common. */
export function CommonCause({ rows }: { rows: readonly JobSummary[] }) {
  const failed = rows.filter((row) => ["failed", "quarantined"].includes(foundAs(row)));
  const groups = Map.groupBy(
    failed,
    ({ type, fail_detail, fail_code }) => `${type} ${fail_detail ?? fail_code}`,
  );
  const largest = [...groups.values()].sort((a, b) => b.length - a.length)[0] ?? [];
  const [one] = largest;
  if (one === undefined || largest.length < rowsMin || largest.length < failed.length / 2) return null;
  const isInVain = one.fail_detail === "OOM_KILLED" || one.fail_code === "TIMEOUT";
  return (
    <div className="say" data-state={one.status}>
      <StateIcon state={one.status} />
      <div className="grow">
        <b>
          {largest.length} of {failed.length} failed the same way.
        </b>{" "}
        <span className="dim">
          <bdi>{one.type}</bdi>: {one.fail_detail ?? one.fail_code},{" "}
          <PlainText text={one.last_failure?.reason ?? one.fail_reason ?? ""} />.{" "}
          {isInVain
            ? "A retry runs the same signed document with the same limits; submit a copy with other limits instead."
            : ""}
        </span>
      </div>
      {isInVain ? (
        <a className="button small" href={`/submit?from=${one.id}`}>
          Copy one with changes…
        </a>
      ) : null}
    </div>
  );
}
