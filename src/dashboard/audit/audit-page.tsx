import { KeysPanel } from "../access/keys-panel.tsx";
import { LockdownPanel } from "../access/lockdown-panel.tsx";
import { mayOf, usePerson } from "../hub/session.ts";
import { Icon } from "../parts/icon.tsx";
import { go, usePageAddress, withQuery } from "../shell/router.ts";
import { AuditBar } from "./audit-bar.tsx";
import { auditSearch, readAuditFilter } from "./audit-filter.ts";
import { ChainCard } from "./chain-card.tsx";
import { Trail } from "./trail.tsx";

/** The acts of people, or all records. */
const views = [
  ["Everything", null],
  ["People", "people"],
] as const;
const severities = [
  ["All", null],
  ["Low", "LOW"],
  ["Medium", "MEDIUM"],
  ["High", "HIGH"],
  ["Critical", "CRITICAL"],
] as const;
/** The most records that the hub returns for one call. */
const exportedMax = 1_000;

export function AuditPage() {
  const address = usePageAddress();
  const may = mayOf(usePerson());
  const filter = readAuditFilter(address.query);
  return (
    <>
      <div className="top">
        <h1>Audit</h1>
        <span className="grow" />
        <div className="segments" role="group" aria-label="View">
          {views.map(([label, view]) => (
            <button
              type="button"
              key={label}
              aria-pressed={(filter.view ?? null) === view}
              onClick={() => go(withQuery(address, { view }), { replace: true })}
            >
              {label}
            </button>
          ))}
        </div>
        <div className="segments not-phone" role="group" aria-label="Severity">
          {severities.map(([label, severity]) => (
            <button
              type="button"
              key={label}
              aria-pressed={(filter.severity ?? null) === severity}
              onClick={() => go(withQuery(address, { severity }), { replace: true })}
            >
              {label}
            </button>
          ))}
        </div>
        <a
          className="button"
          href={exportAddress(address.query)}
          download="audit.json"
          title={`The newest ${exportedMax} records that match, as JSON`}
        >
          <Icon name="download" />
          Export
        </a>
      </div>
      <div className="page">
        <div className="columns columns-audit">
          <div className="stack trail-stack">
            <AuditBar filter={filter} />
            <Trail key={JSON.stringify(filter)} filter={filter} />
          </div>
          <div className="stack">
            {may.administerHub ? <ChainCard /> : null}
            <KeysPanel mayRotate={may.administerHub} />
            {may.administerHub ? <LockdownPanel /> : null}
          </div>
        </div>
      </div>
    </>
  );
}

function exportAddress(query: URLSearchParams): string {
  const wanted = Object.entries(auditSearch(readAuditFilter(query), Date.now()));
  const given = wanted
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, String(value)]);
  return `/api/v1/audit?${new URLSearchParams([...given, ["limit", String(exportedMax)]])}`;
}
