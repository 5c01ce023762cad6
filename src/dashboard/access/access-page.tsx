import { mayOf, usePerson } from "../hub/session.ts";
import { AlertsPanel } from "./alerts-panel.tsx";
import { HubCertsPanel } from "./hub-certs-panel.tsx";
import { KeysPanel } from "./keys-panel.tsx";
import { LockdownPanel } from "./lockdown-panel.tsx";
import { PeoplePanel } from "./people-panel.tsx";
import { YouPanel } from "./you-panel.tsx";

export function AccessPage() {
  const may = mayOf(usePerson());
  return (
    <>
      <div className="top">
        <h1>Keys and access</h1>
      </div>
      <div className="page">
        <div className="columns columns-even access-columns">
          <div className="stack">
            <YouPanel />
            {may.administer ? <PeoplePanel /> : null}
          </div>
          <div className="stack">
            <KeysPanel mayRotate={may.administerHub} />
            {may.administerHub ? <HubCertsPanel /> : null}
            {may.administer ? <AlertsPanel /> : null}
            {may.administer ? <LockdownPanel /> : null}
          </div>
        </div>
      </div>
    </>
  );
}
