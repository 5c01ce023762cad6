import { memo } from "react";
import { IconShapes } from "./icon-shapes.tsx";
import { MarkShapes } from "./mark-shapes.tsx";

export type IconName =
  | "overview"
  | "jobs"
  | "fleet"
  | "audit"
  | "key"
  | "search"
  | "close"
  | "plus"
  | "check"
  | "warning"
  | "copy"
  | "download"
  | "up"
  | "follow"
  | "wrap"
  | "more"
  | "theme"
  | "pause"
  | "retry"
  | "stop"
  | "drain"
  | "block"
  | "active"
  | "silent"
  | "lock"
  | "bookmark"
  | "file"
  | "filters"
  | "back"
  | "leave"
  | "queues";

/** All shapes, once in the page; each icon refers to one of them. */
export const IconSheet = memo(function IconSheet() {
  return (
    <svg width="0" height="0" className="only-read" aria-hidden="true">
      <defs>
        <IconShapes />
        <MarkShapes />
      </defs>
    </svg>
  );
});

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" aria-hidden="true">
      <use href={`#${name}`} />
    </svg>
  );
}

/** A seal means a checked signature and nothing else. */
export function Seal({ kind }: { kind: "seal-ok" | "seal-wait" | "brand-mark" }) {
  const className = kind === "seal-ok" ? "seal sealed" : kind === "seal-wait" ? "seal sealing" : "seal";
  return (
    <svg className={className} viewBox="0 0 24 24" aria-hidden="true">
      <use href={`#${kind}`} />
    </svg>
  );
}
