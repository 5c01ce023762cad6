import { useNow } from "../hub/clock.ts";
import { link, tryNow } from "../hub/live-feed.ts";
import { useLockdown } from "../hub/lockdown.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useStore } from "../hub/store.ts";
import { durationText, momentText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { askToLift } from "./lift-lockdown.tsx";

/** A short cut is not worth a word; a longer one is shown, and after this long the page says how old it is. */
const quietMs = 2_000;
const staleMs = 10_000;

type LinkState = "live" | "again" | "stale";

export function useLinkState(): { state: LinkState; lostMs: number; retryInMs: number } {
  const { lostAt, retryAt } = useStore(link);
  const now = useNow();
  if (lostAt === null) return { state: "live", lostMs: 0, retryInMs: 0 };
  const lostMs = Math.max(0, now - lostAt);
  const state = lostMs < quietMs ? "live" : lostMs < staleMs ? "again" : "stale";
  return { state, lostMs, retryInMs: Math.max(0, (retryAt ?? now) - now) };
}

export function StaleBar() {
  const { state, lostMs, retryInMs } = useLinkState();
  const { lostAt } = useStore(link);
  if (state !== "stale" || lostAt === null) return null;
  return (
    <div className="stale-bar" role="status">
      <Icon name="warning" />
      <span className="grow">
        Not live since {momentText(lostAt)}. What you see is {durationText(lostMs)} old
        {retryInMs > 0 ? (
          <>
            ; trying again in <b className="strong">{Math.ceil(retryInMs / 1000)} s</b>
          </>
        ) : (
          "; trying again"
        )}
        . Actions are sent as soon as the hub answers.
      </span>
      <button type="button" className="button small" onClick={tryNow}>
        Try now
      </button>
    </div>
  );
}

/** Red and everywhere while the hub is locked; a tenant that is locked alone is named below it. */
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
            <PlainText text={lockdown.reason ?? ""} />. No worker may claim; jobs that were running wait
            again, and none was charged an attempt.
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
