import type { ReactNode } from "react";
import { hasCode } from "../../core/errors.ts";
import { errorText } from "../hub/call-hub.ts";
import { useLinkState } from "../hub/link-state.ts";
import { showToast } from "../shell/toasts.tsx";
import { momentText } from "./format.ts";
import { Icon } from "./icon.tsx";
import { PlainText } from "./plain-text.tsx";

/** Says what could not be read, and how old the shown data is. The last data stays in place. */
export function ErrorBand({ error, at, onRetry }: { error: unknown; at?: number; onRetry?: () => void }) {
  const isStale = useLinkState() === "stale";
  // The bar above the page says the same for the whole page.
  const isSaidAbove = isStale && at !== undefined && at > 0 && hasCode(error, "HUB_UNREACHABLE");
  if (error === undefined || isSaidAbove) return null;
  return (
    <div className="say" data-state="failed" role="alert">
      <Icon name="warning" />
      <div className="grow">
        <b>
          <PlainText text={errorText(error)} />.
        </b>{" "}
        {at === undefined || at === 0 ? null : (
          <span className="dim">What is shown is from {momentText(at)}.</span>
        )}
      </div>
      {onRetry === undefined ? null : (
        <button type="button" className="button small" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ icon, title, children }: { icon: ReactNode; title: string; children: ReactNode }) {
  return (
    <section className="panel">
      <div className="empty">
        {icon}
        <h2>{title}</h2>
        {children}
      </div>
    </section>
  );
}

/** A command to copy. */
export function Command({ text }: { text: string }) {
  return (
    <div className="well">
      <span className="grow">{text}</span>
      <button
        type="button"
        className="icon-button tiny"
        aria-label="Copy the command"
        onClick={() => void copyText(text, "Command")}
      >
        <Icon name="copy" />
      </button>
    </div>
  );
}

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast({ icon: "copy", text: `${what} copied` });
  } catch {
    // The page is not encrypted, or the person has refused: the text is shown instead, to be copied by hand.
    showToast({ icon: "warning", text: "This browser does not let the page copy", note: text.slice(0, 200) });
  }
}

/** Grey bars where rows will be, for what takes longer than a moment. */
export function SkeletonRows({ count }: { count: number }) {
  const widths = [14, 72, 160, 60, 30, 70, 20, 180, 24];
  return (
    <section className="panel table skeleton-rows" aria-busy="true" aria-label="Loading">
      {Array.from({ length: count }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars have no identity.
        <div className="job-row" key={row}>
          {widths.map((width) => (
            <span className="skeleton" key={width} style={{ width: width - ((row * 17 + width * 7) % 12) }} />
          ))}
        </div>
      ))}
    </section>
  );
}
