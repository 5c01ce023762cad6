import { Component, type ReactNode } from "react";
import { Icon } from "../parts/icon.tsx";
import { Empty } from "../parts/notices.tsx";

type State = { isBroken: boolean };

/**
 * Keeps a page that cannot be drawn from taking everything else with it. Its part of the program is loaded when it is
 * opened, and is gone from a hub that was upgraded since; then loading the document again helps.
 */
export class PageBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { isBroken: false };

  static getDerivedStateFromError(): State {
    return { isBroken: true };
  }

  override render(): ReactNode {
    if (!this.state.isBroken) return this.props.children;
    return (
      <div className="page">
        <Empty icon={<Icon name="warning" />} title="This page cannot be shown">
          <p>The hub may be away, or was upgraded since this page was opened.</p>
          <button type="button" className="button main" onClick={() => location.reload()}>
            Load it again
          </button>
        </Empty>
      </div>
    );
  }
}
