import { useState } from "react";
import { type Count, type Counts, countLabel, sumCounts } from "../hub/counts.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { StateIcon } from "../parts/state.tsx";
import { usePageAddress } from "../shell/router.ts";
import { isShown, removeView, saveView, useViews, type View } from "./views.ts";

export function ViewTabs({ counts }: { counts: Counts | undefined }) {
  const address = usePageAddress();
  const views = useViews();
  const shown = views.find((view) => isShown(view, address));
  return (
    <nav className="views" aria-label="Views">
      {views.map((view) => (
        <a key={view.name} href={view.href} aria-current={view === shown ? "true" : undefined}>
          {view.name === "Dead letters" ? (
            <span className="state" data-state="quarantined">
              <StateIcon state="quarantined" />
            </span>
          ) : null}
          <PlainText text={view.name} />
          <ViewCount view={view} counts={counts} />
        </a>
      ))}
      {shown === undefined ? <SaveView query={address.query.toString()} /> : null}
      {shown?.isOwn ? (
        <button type="button" className="button quiet small" onClick={() => removeView(shown.name)}>
          Remove this view
        </button>
      ) : null}
    </nav>
  );
}

function ViewCount({ view, counts }: { view: View; counts: Counts | undefined }) {
  if (counts === undefined || sumCounts(counts).count === 0) return null;
  const count: Count | undefined = {
    All: sumCounts(counts),
    Waiting: counts.pending,
    Scheduled: counts.scheduled,
    Running: sum(counts.assigned, counts.running),
    Failed: counts.failed,
    "Dead letters": counts.quarantined,
  }[view.name];
  return count === undefined || view.isOwn ? null : <small>{countLabel(count)}</small>;
}

function sum(a: Count, b: Count): Count {
  return { count: a.count + b.count, is_more: a.is_more || b.is_more };
}

/** Saves the current filters under a name. */
function SaveView({ query }: { query: string }) {
  const [name, setName] = useState<string | null>(null);
  if (name === null) {
    return (
      <button
        type="button"
        className="button quiet small"
        onClick={() => setName("")}
        title="Save these filters as a view"
      >
        <Icon name="plus" />
        Save view
      </button>
    );
  }
  return (
    <form
      className="row save-view"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== "") saveView(name.trim().slice(0, 40), query);
        setName(null);
      }}
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: a click has just asked for this field
        autoFocus
        value={name}
        onChange={(event) => setName(event.target.value)}
        placeholder="Name of the view"
        aria-label="Name of the view"
      />
      <button type="submit" className="button small">
        Save
      </button>
    </form>
  );
}
