/**
 * The shapes of states, seals and severities. Each has an outline of its own, so that colour is not needed to tell them
 * apart.
 */
export function MarkShapes() {
  return (
    <>
      <StateShapes />
      <SealShapes />
      <SeverityShapes />
    </>
  );
}

function StateShapes() {
  return (
    <>
      <symbol id="state-pending" viewBox="0 0 16 16">
        <circle
          cx="8"
          cy="8"
          r="6"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeDasharray="2.6 2.1"
        />
      </symbol>
      <symbol id="state-scheduled" viewBox="0 0 16 16">
        <path
          d="M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 4.8V8l2.3 1.6"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </symbol>
      <symbol id="state-retrying" viewBox="0 0 16 16">
        <path
          d="M13.5 8A5.5 5.5 0 1 1 11.6 3.8M13.6 1.8v3.4h-3.4"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </symbol>
      <symbol id="state-assigned" viewBox="0 0 16 16">
        <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.8" />
        <path d="M8 3.6a4.4 4.4 0 0 1 0 8.8z" fill="currentColor" />
      </symbol>
      <symbol id="state-completed" viewBox="0 0 16 16">
        <path
          fill="currentColor"
          fillRule="evenodd"
          d="M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm3.6 5.3-4.3 4.9a.9.9 0 0 1-1.3 0L4.2 9.3l1.2-1.2 1.2 1.2 3.7-4.2z"
        />
      </symbol>
      <symbol id="state-failed" viewBox="0 0 16 16">
        <path
          fill="currentColor"
          fillRule="evenodd"
          d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1zM5.3 6.5 6.8 8 5.3 9.5l1.2 1.2L8 9.2l1.5 1.5 1.2-1.2L9.2 8l1.5-1.5-1.2-1.2L8 6.8 6.5 5.3z"
        />
      </symbol>
      <symbol id="state-quarantined" viewBox="0 0 16 16">
        <path
          fill="currentColor"
          d="M1.2 4.6 8 9l6.8-4.4v7.2A1.6 1.6 0 0 1 13.2 13.4H2.8a1.6 1.6 0 0 1-1.6-1.6z"
        />
        <path fill="currentColor" d="M1.6 3.2a1.6 1.6 0 0 1 1.2-.6h10.4c.5 0 .9.2 1.2.6L8 7.3z" />
      </symbol>
      <symbol id="state-cancelled" viewBox="0 0 16 16">
        <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.8" />
        <path d="m4 12 8-8" stroke="currentColor" strokeWidth="1.8" />
      </symbol>
    </>
  );
}

function SealShapes() {
  return (
    <>
      <symbol id="seal" viewBox="0 0 24 24">
        <path
          fill="currentColor"
          d="M12.00 1.7A3.2 3.2 0 0 1 17.15 3.08A3.2 3.2 0 0 1 20.92 6.85A3.2 3.2 0 0 1 22.3 12.00A3.2 3.2 0 0 1 20.92 17.15A3.2 3.2 0 0 1 17.15 20.92A3.2 3.2 0 0 1 12.00 22.3A3.2 3.2 0 0 1 6.85 20.92A3.2 3.2 0 0 1 3.08 17.15A3.2 3.2 0 0 1 1.7 12.00A3.2 3.2 0 0 1 3.08 6.85A3.2 3.2 0 0 1 6.85 3.08A3.2 3.2 0 0 1 12.00 1.7z"
        />
      </symbol>
      <symbol id="seal-ok" viewBox="0 0 24 24">
        <use href="#seal" />
        <path
          d="m7.6 12.2 3 3 5.8-6.3"
          fill="none"
          stroke="var(--surface)"
          strokeWidth="2.2"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </symbol>
      <symbol id="seal-wait" viewBox="0 0 24 24">
        <path
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
          strokeDasharray="2.6 2"
          d="M12.00 2.4A2.98 2.98 0 0 1 16.8 3.69A2.98 2.98 0 0 1 20.31 7.2A2.98 2.98 0 0 1 21.6 12.00A2.98 2.98 0 0 1 20.31 16.8A2.98 2.98 0 0 1 16.8 20.31A2.98 2.98 0 0 1 12.00 21.6A2.98 2.98 0 0 1 7.2 20.31A2.98 2.98 0 0 1 3.69 16.8A2.98 2.98 0 0 1 2.4 12.00A2.98 2.98 0 0 1 3.69 7.2A2.98 2.98 0 0 1 7.2 3.69A2.98 2.98 0 0 1 12.00 2.4z"
        />
      </symbol>
      <symbol id="brand-mark" viewBox="0 0 24 24">
        <use href="#seal" />
        <path
          d="m6.4 8 2.5 8L12 9.6 15.1 16l2.5-8"
          fill="none"
          stroke="var(--paper)"
          strokeWidth="2"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </symbol>
    </>
  );
}

function SeverityShapes() {
  return (
    <>
      <symbol id="severity-low" viewBox="0 0 16 16">
        <rect x="1.5" y="10" width="3" height="4" rx=".8" />
        <rect x="6.5" y="6.5" width="3" height="7.5" rx=".8" opacity=".22" />
        <rect x="11.5" y="2.5" width="3" height="11.5" rx=".8" opacity=".22" />
      </symbol>
      <symbol id="severity-medium" viewBox="0 0 16 16">
        <rect x="1.5" y="10" width="3" height="4" rx=".8" />
        <rect x="6.5" y="6.5" width="3" height="7.5" rx=".8" />
        <rect x="11.5" y="2.5" width="3" height="11.5" rx=".8" opacity=".22" />
      </symbol>
      <symbol id="severity-high" viewBox="0 0 16 16">
        <rect x="1.5" y="10" width="3" height="4" rx=".8" />
        <rect x="6.5" y="6.5" width="3" height="7.5" rx=".8" />
        <rect x="11.5" y="2.5" width="3" height="11.5" rx=".8" />
      </symbol>
      <symbol id="severity-critical" viewBox="0 0 16 16">
        <path d="M8 1.5 15 14.5H1z" />
      </symbol>
    </>
  );
}
