import type { ReactNode } from "react";
import type { IconName } from "./icon.tsx";

/** Outlines on a grid of 16; colour and line width come from where an icon is used. */
const shapes: Record<IconName, ReactNode> = {
  overview: <path d="M2 13V9.5M6 13V4M10 13V7M14 13V2.5" />,
  jobs: <path d="M5.5 4h8M5.5 8h8M5.5 12h8M2.3 4h.1M2.3 8h.1M2.3 12h.1" />,
  fleet: (
    <>
      <rect x="2" y="2.5" width="12" height="4.5" rx="1.2" />
      <rect x="2" y="9" width="12" height="4.5" rx="1.2" />
      <path d="M4.6 4.75h.1M4.6 11.25h.1" />
    </>
  ),
  audit: (
    <path d="M6.8 9.2 9.2 6.8M7 4.8l1.7-1.7a3 3 0 0 1 4.2 4.2L11.2 9M9 11.2l-1.7 1.7a3 3 0 0 1-4.2-4.2L4.8 7" />
  ),
  key: (
    <>
      <circle cx="5.3" cy="10.7" r="3" />
      <path d="m7.5 8.5 6-6M11 5l2 2" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.5" />
      <path d="m10.5 10.5 3.5 3.5" />
    </>
  ),
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  plus: <path d="M8 3v10M3 8h10" />,
  check: <path d="m3 8.5 3.2 3.2L13 4.8" />,
  warning: <path d="M8 2 14.5 13.5h-13zM8 6.5v3M8 11.6v.1" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.5v-.5A.5.5 0 0 0 10 2.5H3a.5.5 0 0 0-.5.5v7a.5.5 0 0 0 .5.5h.5" />
    </>
  ),
  download: <path d="M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10" />,
  up: <path d="M8 13.5V3M4.5 6.5 8 3l3.5 3.5" />,
  follow: <path d="M8 2.5v8M4.5 7 8 10.5 11.5 7M4 13.5h8" />,
  wrap: <path d="M2.5 4h11M2.5 8h8.5a2 2 0 0 1 0 4.5H8M9.5 10.8 7.7 12.5l1.8 1.7M2.5 12.5h2.5" />,
  more: <path d="M3.5 8h.1M8 8h.1M12.5 8h.1" strokeWidth="2.2" />,
  theme: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor" />
    </>
  ),
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  retry: <path d="M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3" />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1.5" />,
  drain: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M8 5v5.5M5.8 8.6 8 10.8l2.2-2.2" />
    </>
  ),
  block: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="m3.8 12.2 8.4-8.4" />
    </>
  ),
  active: (
    <>
      <circle cx="8" cy="8" r="6" />
      <circle cx="8" cy="8" r="2.6" fill="currentColor" stroke="none" />
    </>
  ),
  silent: <circle cx="8" cy="8" r="6" strokeDasharray="2.5 2.2" />,
  lock: (
    <>
      <rect x="3" y="7" width="10" height="6.5" rx="1.5" />
      <path d="M5.3 7V5a2.7 2.7 0 0 1 5.4 0v2" />
    </>
  ),
  bookmark: <path d="M4 2.5h8v11l-4-3-4 3z" />,
  file: <path d="M4 1.8h5.2L12.5 5v9.2H4zM9 2v3.3h3.3" />,
  filters: <path d="M2.5 4.5h11M4.5 8h7M6.5 11.5h3" />,
  back: <path d="M10 3.5 5.5 8l4.5 4.5" />,
  leave: <path d="M6.5 2.5H4A1.5 1.5 0 0 0 2.5 4v8A1.5 1.5 0 0 0 4 13.5h2.5M10.5 11l3-3-3-3M13.5 8H6" />,
  queues: <path d="M2.5 4.5h7M2.5 8h7M2.5 11.5h7M12 3.5v8.5M10 10l2 2 2-2" />,
};

export function IconShapes() {
  return Object.entries(shapes).map(([id, shape]) => (
    <symbol key={id} id={id} viewBox="0 0 16 16">
      {shape}
    </symbol>
  ));
}
