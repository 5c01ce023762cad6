import { Component, type ReactNode } from "react";
import { Icon } from "../parts/icon.tsx";
import { Empty } from "../parts/notices.tsx";

type State = { isBroken: boolean };

/**
 * Shows an error instead of a page that cannot be drawn. A page's script is loaded when the page is opened, and an
 * upgraded hub no longer has the old one; then loading the document again helps.
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
