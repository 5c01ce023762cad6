import { lazy, type ReactNode, Suspense, useEffect } from "react";
import type { PagePath } from "../../contract/page-paths.ts";
import { pagePaths } from "../../contract/page-paths.ts";
import { useLinkState } from "../hub/link-state.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty } from "../parts/notices.tsx";
import { LockBand, PersonBand, StaleBar } from "./bands.tsx";
import { showKeys } from "./key-list.tsx";
import { type KeyMap, useKeys } from "./keys.ts";
import { isIn, navigation, openPalette } from "./navigation.ts";
import { PageBoundary } from "./page-boundary.tsx";
import { Palette } from "./palette.tsx";
import { followLink, go, usePageAddress } from "./router.ts";
import { Sidebar } from "./sidebar.tsx";
import { TabBar } from "./tab-bar.tsx";
import { switchTheme } from "./theme.ts";

const OverviewPage = lazy(async () => ({
  default: (await import("../overview/overview-page.tsx")).OverviewPage,
}));
const JobsPage = lazy(async () => ({ default: (await import("../jobs/jobs-page.tsx")).JobsPage }));
const JobPage = lazy(async () => ({ default: (await import("../job/job-page.tsx")).JobPage }));
const SubmitPage = lazy(async () => ({ default: (await import("../submit/submit-page.tsx")).SubmitPage }));
const FleetPage = lazy(async () => ({ default: (await import("../fleet/fleet-page.tsx")).FleetPage }));
const QueuesPage = lazy(async () => ({ default: (await import("../queues/queues-page.tsx")).QueuesPage }));
const AuditPage = lazy(async () => ({ default: (await import("../audit/audit-page.tsx")).AuditPage }));
const AccessPage = lazy(async () => ({ default: (await import("../access/access-page.tsx")).AccessPage }));
const SettingsPage = lazy(async () => ({
  default: (await import("../settings/settings-page.tsx")).SettingsPage,
}));

/** The pages by address; each gets the part that stands for `:id`, and is loaded when it is opened. */
const pages: Record<PagePath, (id: string) => ReactNode> = {
  "/": () => <OverviewPage />,
  "/jobs": () => <JobsPage />,
  "/jobs/:id": (id) => <JobPage id={id} key={id} />,
  "/submit": () => <SubmitPage key={location.search} />,
  "/fleet": () => <FleetPage />,
  "/queues": () => <QueuesPage />,
  "/audit": () => <AuditPage />,
  "/access": () => <AccessPage />,
  "/settings": () => <SettingsPage />,
};

export function Shell() {
  const { path } = usePageAddress();
  const state = useLinkState();
  const may = mayOf(usePerson());
  const jumps: KeyMap = {};
  for (const { key, path: to } of navigation(may)) jumps[`g ${key}`] = () => go(to);
  const label =
    path === "/submit" ? "Submit a job" : navigation(may).find((page) => page.path === path)?.label;
  useEffect(() => {
    if (label !== undefined) document.title = `${label} · Writ`;
  }, [label]);
  useKeys({ ...jumps, t: switchTheme, "ctrl+k": openPalette, "?": showKeys });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it handles clicks on links anywhere in the page, and links have the keyboard
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link sends a click for the Enter key
    <div className={state === "stale" ? "frame is-stale" : "frame"} onClick={followLink}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className="shell">
        <Sidebar />
        <main id="main" tabIndex={-1}>
          <LockBand />
          <PersonBand />
          <StaleBar />
          <PageBoundary key={path}>
            <Suspense fallback={<div className="page" />}>{pageFor(path, may)}</Suspense>
          </PageBoundary>
        </main>
      </div>
      <TabBar />
      <Palette />
    </div>
  );
}

function pageFor(path: string, may: ReturnType<typeof mayOf>): ReactNode {
  const isAllowed =
    path === "/submit" ? may.act : navigation(may).some((entry) => isIn({ path }, entry.path));
  for (const pattern of isAllowed ? pagePaths : []) {
    const match = new RegExp(`^${pattern.replace(":id", "([^/]+)")}/?$`).exec(path);
    if (match !== null) return pages[pattern](decoded(match[1] ?? ""));
  }
  return (
    <>
      <div className="top">
        <h1>Not found</h1>
      </div>
      <div className="page">
        <Empty icon={<Icon name="search" />} title="There is no such page, or you may not open it">
          <a className="button" href="/jobs">
            Show the jobs
          </a>
        </Empty>
      </div>
    </>
  );
}

/** An address that was cut in the middle of a character stays as it is, and finds nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not an encoded text; see above.
    return part;
  }
}
