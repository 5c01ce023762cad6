import { countLabel, useCounts } from "../hub/counts.ts";
import { useHealth } from "../hub/health.ts";
import { lostMsAt, useLinkState } from "../hub/link-state.ts";
import { eventRate } from "../hub/live-feed.ts";
import { mayOf, type Person, usePerson } from "../hub/session.ts";
import { useStore } from "../hub/store.ts";
import { isReachable, useWorkers } from "../hub/workers.ts";
import { isShown, useViews } from "../jobs/views.ts";
import { durationText, rateText } from "../parts/format.ts";
import { Icon, Seal } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { StateIcon } from "../parts/state.tsx";
import { Ticking } from "../parts/ticking.tsx";
import { leave } from "./leave.ts";
import { isIn, navigation, openPalette } from "./navigation.ts";
import { usePageAddress } from "./router.ts";
import { switchTheme } from "./theme.ts";

export function Sidebar() {
  const version = useHealth()?.version;
  return (
    <aside className="side" aria-label="Navigation">
      <div className="brand">
        <Seal kind="brand-mark" />
        <div className="cut">
          <b>Writ</b>
          <small className="cut">
            {location.host}
            {version === undefined ? "" : ` · ${version}`}
          </small>
        </div>
      </div>
      <button type="button" className="search-button" onClick={openPalette}>
        <Icon name="search" />
        <span className="grow">Search or act</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Pages />
      <div className="side-foot">
        <Connection />
        <PersonRow person={usePerson()} />
      </div>
    </aside>
  );
}

function Pages() {
  const address = usePageAddress();
  const may = mayOf(usePerson());
  const counts = useCounts();
  const workers = useWorkers(may.seeFleet).data;
  const views = useViews().filter(({ inSidebar }) => inSidebar);
  const shownView = address.path === "/jobs" ? views.find((view) => isShown(view, address)) : undefined;
  const numbers: Record<string, string | undefined> = {
    "/jobs": counts && counts.running.count > 0 ? countLabel(counts.running) : undefined,
    "/fleet": workers && `${workers.filter(isReachable).length}/${workers.length}`,
  };
  return (
    <nav className="nav" aria-label="Main">
      {navigation(may).map(({ path, label, icon }) => (
        <a
          key={path}
          href={path}
          aria-current={isIn(address, path) && shownView === undefined ? "page" : undefined}
        >
          <Icon name={icon} />
          {label}
          {numbers[path] === undefined ? null : <span className="count">{numbers[path]}</span>}
        </a>
      ))}
      <h3>Views</h3>
      {views.map((view) => (
        <a key={view.name} href={view.href} aria-current={shownView === view ? "page" : undefined}>
          {view.name === "Dead letters" ? (
            <span className="state" data-state="quarantined">
              <StateIcon state="quarantined" />
            </span>
          ) : (
            <Icon name="bookmark" />
          )}
          <span className="cut">
            <PlainText text={view.name} />
          </span>
          {view.name === "Dead letters" && counts !== undefined && counts.quarantined.count > 0 ? (
            <span className="count hot">{countLabel(counts.quarantined)}</span>
          ) : null}
        </a>
      ))}
    </nav>
  );
}

function Connection() {
  const state = useLinkState();
  const rate = useStore(eventRate);
  const [word, more] = {
    live: ["Live", () => ` · ${rateText(rate)} events/s`] as const,
    again: ["Reconnecting", () => " …"] as const,
    stale: ["Stale", (now: number) => `, ${durationText(lostMsAt(now))} old`] as const,
  }[state];
  return (
    <div className="connection" data-link={state}>
      <i className="pulse" />
      <span className="grow">
        {word}
        <Ticking className="dimmer" text={more} />
      </span>
    </div>
  );
}

function PersonRow({ person }: { person: Person }) {
  return (
    <div className="person">
      <span className="avatar" aria-hidden="true">
        {person.user_id.slice(0, 2)}
      </span>
      <span className="grow cut">
        {person.user_id}
        <small className="dimmer cut">
          {person.role}
          {person.tenant_id === null ? "" : ` · ${person.tenant_id}`}
        </small>
      </span>
      <button
        type="button"
        className="icon-button"
        aria-label="Switch theme"
        title="Switch theme (T)"
        onClick={switchTheme}
      >
        <Icon name="theme" />
      </button>
      <button type="button" className="icon-button" aria-label="Sign out" title="Sign out" onClick={leave}>
        <Icon name="leave" />
      </button>
    </div>
  );
}
