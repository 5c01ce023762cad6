import { mayOf, usePerson } from "../hub/session.ts";
import { AlertsPanel } from "./alerts-panel.tsx";
import { KeysPanel } from "./keys-panel.tsx";
import { LockdownPanel } from "./lockdown-panel.tsx";
import { PeoplePanel } from "./people-panel.tsx";

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
            <PeoplePanel />
          </div>
          <div className="stack">
            <KeysPanel mayRotate={may.administerHub} />
            <AlertsPanel />
            {may.administerHub ? <LockdownPanel /> : null}
          </div>
        </div>
      </div>
    </>
  );
}
