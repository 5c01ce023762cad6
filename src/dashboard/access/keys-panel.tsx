import type { z } from "zod";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { keyView } from "../../contract/shapes/trust-view-shapes.ts";
import { rotationDueMs } from "../../core/key-times.ts";
import { callHub } from "../hub/call-hub.ts";
import { useNow } from "../hub/clock.ts";
import { useQuery } from "../hub/use-query.ts";
import { momentText, plural, wholeMomentText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand } from "../parts/notices.tsx";
import { askToRevokeKey, askToRotate } from "./key-acts.tsx";

type Key = z.infer<typeof keyView>;

const dayMs = 86_400_000;
const soonMs = 14 * dayMs;
const shownMax = 6;

/** The keys that jobs are signed with, newest first, and when the one that signs should be replaced. */
export function KeysPanel({ mayRotate }: { mayRotate: boolean }) {
  const { data, error, at, reload } = useQuery("keys", readKeys, { everyMs: 60_000 });
  const keys = [...(data ?? [])].reverse();
  return (
    <>
      <ErrorBand error={error} at={at} onRetry={reload} />
      <section className="panel people keys">
        <header>
          <h2>Signing keys</h2>
          <span className="grow" />
          {mayRotate ? (
            <button type="button" className="button small" onClick={() => askToRotate(reload)}>
              Rotate…
            </button>
          ) : null}
        </header>
        <ul>
          {keys.slice(0, shownMax).map((key) => (
            <KeyRow key={key.key_id} record={key} mayRevoke={mayRotate} onDone={reload} />
          ))}
        </ul>
        {keys.length > shownMax ? (
          <p className="table-foot">and {plural(keys.length - shownMax, "older key")}</p>
        ) : null}
      </section>
    </>
  );
}

async function readKeys(): Promise<Key[]> {
  return (await callHub(pageRoutes.listKeys, {})).body.keys;
}

function KeyRow({ record, mayRevoke, onDone }: { record: Key; mayRevoke: boolean; onDone: () => void }) {
  const now = useNow();
  const { key_id, status, not_before } = record;
  const isActive = status === "active";
  const percent = Math.min(100, Math.max(1, Math.round(((now - not_before) / rotationDueMs) * 100)));
  const dueInMs = not_before + rotationDueMs - now;
  return (
    <li>
      <span className="avatar" aria-hidden="true">
        <Icon name="key" />
      </span>
      <span>
        <b className="mono">{key_id}</b>
        <small title={`since ${wholeMomentText(not_before)}`}>{keyText(record, now)}</small>
        {isActive ? (
          <span
            className={dueInMs < soonMs ? "meter due-meter" : "meter plain-meter"}
            role="meter"
            aria-label="Age of the key, of 90 days"
            aria-valuenow={percent}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <i style={{ width: `${percent}%` }} />
          </span>
        ) : null}
      </span>
      {isActive ? (
        <Due dueInMs={dueInMs} />
      ) : mayRevoke && status !== "revoked" ? (
        <button
          type="button"
          className="button quiet small"
          aria-label={`Revoke key ${key_id}`}
          onClick={() => askToRevokeKey(key_id, onDone)}
        >
          Revoke…
        </button>
      ) : (
        <span className="dimmer small-text">{status}</span>
      )}
    </li>
  );
}

function Due({ dueInMs }: { dueInMs: number }) {
  const days = Math.ceil(dueInMs / dayMs);
  if (dueInMs >= soonMs) return <span className="dimmer small-text">due in {days} d</span>;
  return (
    <span className="state" data-state="assigned">
      <Icon name="warning" />
      {dueInMs <= 0 ? "due now" : `due in ${days} d`}
    </span>
  );
}

function keyText({ status, not_before, not_after }: Key, now: number): string {
  const ageDays = Math.max(0, Math.floor((now - not_before) / dayMs));
  if (status === "active") return `signs now · ${ageDays} of ${plural(rotationDueMs / dayMs, "day")}`;
  if (status === "revoked")
    return not_after === null ? "verifies nothing" : `revoked ${momentText(not_after)}`;
  if (status === "retired" || not_after === null || not_after <= now) return "verifies old receipts only";
  const leftDays = Math.ceil((not_after - now) / dayMs);
  return `also signs, for ${plural(leftDays, "more day", "more days")}`;
}
