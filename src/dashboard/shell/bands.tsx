import { routes } from "../../contract/routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useNow } from "../hub/clock.ts";
import { useHealth } from "../hub/health.ts";
import { link, tryNow } from "../hub/live-feed.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useStore } from "../hub/store.ts";
import { durationText, momentText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { askFirst } from "./confirm.tsx";
import { showToast } from "./toasts.tsx";

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

export function LockBand() {
  const lockdown = useHealth()?.lockdown;
  const may = mayOf(usePerson());
  if (lockdown === undefined) return null;
  return (
    <div className="lock-band" role="alert">
      <Icon name="lock" />
      <div className="grow">
        <b>Lockdown since {momentText(lockdown.since)}.</b> {lockdown.reason}. No worker may claim; jobs that
        were running wait again, and none was charged an attempt.
      </div>
      {may.administerHub ? (
        <button type="button" className="button" onClick={askToLift}>
          Lift…
        </button>
      ) : null}
    </div>
  );
}

function askToLift(): void {
  askFirst({
    title: "Lift the lockdown?",
    body: <p>Workers may claim again. Jobs that wait start as slots become free.</p>,
    acts: [
      {
        label: "Lift it",
        tone: "main",
        run: async () => {
          await callHub(routes.liftLockdown, {});
          showToast({ icon: "check", text: "The lockdown is lifted", note: "Recorded in the audit trail." });
        },
      },
    ],
  });
}
