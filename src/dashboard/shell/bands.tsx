import { useState } from "react";
import { lostMsAt, useLinkState } from "../hub/link-state.ts";
import { link, tryNow } from "../hub/live-feed.ts";
import { useLockdown } from "../hub/lockdown.ts";
import { forgetFormerPerson, formerPerson, mayOf, usePerson } from "../hub/session.ts";
import { useStore } from "../hub/store.ts";
import { durationText, momentText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { Ticking } from "../parts/ticking.tsx";
import { askToLift } from "./lift-lockdown.tsx";

export function StaleBar() {
  const state = useLinkState();
  const { lostAt, retryAt } = useStore(link);
  if (state !== "stale" || lostAt === null) return null;
  return (
    <div className="stale-bar" role="status">
      <Icon name="warning" />
      <span className="grow">
        Not live since {momentText(lostAt)}. What you see is{" "}
        <Ticking text={(now) => durationText(lostMsAt(now))} /> old;{" "}
        <Ticking text={(now) => retryText((retryAt ?? now) - now)} />. Actions need the hub: try again when it
        is back.
      </span>
      <button type="button" className="button small" onClick={tryNow}>
        Try now
      </button>
    </div>
  );
}

function retryText(ms: number): string {
  return ms > 0 ? `trying again in ${Math.ceil(ms / 1000)} s` : "trying again";
}

/**
 * Another person has signed in in another tab, so this tab was loaded again. It must say that it is another person's
 * page.
 */
export function PersonBand() {
  const [former, setFormer] = useState(formerPerson);
  const { user_id, tenant_id } = usePerson();
  if (former === null) return null;
  const close = () => {
    forgetFormerPerson();
    setFormer(null);
  };
  return (
    <div className="person-band" role="alert">
      <Icon name="warning" />
      <div className="grow">
        <b>
          This tab is now signed in as <PlainText text={user_id} />
          {tenant_id === null ? null : <PlainText text={` (tenant ${tenant_id})`} />}.
        </b>{" "}
        A sign-in in another tab of this browser ended the session of <PlainText text={former} />.
      </div>
      <button type="button" className="button small" onClick={close}>
        Understood
      </button>
    </div>
  );
}

/** On every page while the hub is locked. A tenant that is locked by itself is named below. */
export function LockBand() {
  const lockdown = useLockdown();
  const may = mayOf(usePerson());
  if (lockdown === undefined) return null;
  const [tenant, ...others] = lockdown.tenants ?? [];
  return (
    <>
      {lockdown.locked ? (
        <div className="lock-band" role="alert">
          <Icon name="lock" />
          <div className="grow">
            <b>Lockdown since {momentText(lockdown.since ?? 0)}.</b>{" "}
            <PlainText text={lockdown.reason ?? ""} />. No worker may claim. Jobs that were running wait again
            without charge; those that are allowed one attempt and had begun have failed.
          </div>
          {may.administer ? (
            <a className="button" href="/audit?event=LOCKDOWN">
              Show events
            </a>
          ) : null}
          {may.administerHub ? (
            <button type="button" className="button" onClick={() => askToLift(null)}>
              Lift…
            </button>
          ) : null}
        </div>
      ) : null}
      {tenant === undefined ? null : (
        <div className="tenant-band" role="alert">
          <Icon name="lock" />
          <div className="grow">
            <b>
              Tenant {tenant.tenant_id}
              {others.length === 0 ? " is" : ` and ${plural(others.length, "other")} are`} locked
            </b>{" "}
            since {momentText(tenant.since)}: <PlainText text={tenant.reason} />. Its jobs are not given out.
          </div>
          {may.administer ? (
            <a className="button small" href="/access">
              Lift…
            </a>
          ) : null}
        </div>
      )}
    </>
  );
}
