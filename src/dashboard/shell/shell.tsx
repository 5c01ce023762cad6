import type { ReactNode } from "react";
import type { PagePath } from "../../contract/page-paths.ts";
import { pagePaths } from "../../contract/page-paths.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { JobPage } from "../job/job-page.tsx";
import { JobsPage } from "../jobs/jobs-page.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty } from "../parts/notices.tsx";
import { LockBand, StaleBar, useLinkState } from "./bands.tsx";
import { showKeys } from "./key-list.tsx";
import { type KeyMap, useKeys } from "./keys.ts";
import { navigation, openPalette } from "./navigation.ts";
import { Palette } from "./palette.tsx";
import { followLink, go, usePlace } from "./router.ts";
import { Sidebar } from "./sidebar.tsx";
import { TabBar } from "./tab-bar.tsx";
import { switchTheme } from "./theme.ts";

/** Each page by its address; what stands for `:id` is given to it. */
const pages: Record<PagePath, (id: string) => ReactNode> = {
  "/": () => <JobsPage />,
  "/jobs": () => <JobsPage />,
  "/jobs/:id": (id) => <JobPage id={id} key={id} />,
};

export function Shell() {
  const { path } = usePlace();
  const { state } = useLinkState();
  const may = mayOf(usePerson());
  const jumps: KeyMap = {};
  for (const { key, path: to } of navigation(may)) jumps[`g ${key}`] = () => go(to);
  useKeys({ ...jumps, t: switchTheme, "ctrl+k": openPalette, "?": showKeys });
  return (
    <div className={state === "stale" ? "frame is-stale" : "frame"} onClick={followLink}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <LockBand />
      <div className="shell">
        <Sidebar />
        <main id="main" tabIndex={-1}>
          <StaleBar />
          {pageFor(path)}
        </main>
      </div>
      <TabBar />
      <Palette />
    </div>
  );
}

function pageFor(path: string): ReactNode {
  for (const pattern of pagePaths) {
    const match = new RegExp(`^${pattern.replace(":id", "([^/]+)")}/?$`).exec(path);
    if (match !== null) return pages[pattern](decodeURIComponent(match[1] ?? ""));
  }
  return (
    <div className="page">
      <Empty icon={<Icon name="search" />} title="There is no such page">
        <a className="button" href="/jobs">
          Show the jobs
        </a>
      </Empty>
    </div>
  );
}
