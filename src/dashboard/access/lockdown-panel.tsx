import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { lockdownRequest } from "../../contract/shapes/audit-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { countLabel, useCounts } from "../hub/counts.ts";
import { reloadLockdown, useLockdown } from "../hub/lockdown.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { isRight, newDraft, TextField } from "../parts/form.tsx";
import { momentText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { StateIcon } from "../parts/state.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { asksForHub, hubName } from "../shell/hub-name.ts";
import { askToLift } from "../shell/lift-lockdown.tsx";
import { showToast } from "../shell/toasts.tsx";

/** Shows whether the hub or a tenant is locked, with the acts that the person may use. */
export function LockdownPanel() {
  const lockdown = useLockdown();
  const may = mayOf(usePerson());
  const counts = useCounts();
  const running = counts === undefined ? "The" : countLabel(counts.running);
  const isLocked = lockdown?.locked ?? false;
  const tenants = lockdown?.tenants ?? [];
  return (
    <section className="panel people">
      <header>
        <h2>Lockdown</h2>
        <span className="grow" />
        {lockdown === undefined ? null : (
          <span className="state" data-state={isLocked ? "failed" : "completed"}>
            <StateIcon state={isLocked ? "failed" : "completed"} />
            {isLocked ? "active" : "not active"}
          </span>
        )}
      </header>
      <div className="panel-text dim">
        <p>Stops every claim and every running job at once. Only a person lifts it.</p>
        {may.administerHub && lockdown !== undefined ? (
          isLocked ? (
            <button type="button" className="button small" onClick={() => askToLift(null)}>
              Lift the lockdown…
            </button>
          ) : (
            <button type="button" className="button small danger" onClick={() => askToLockDown(running)}>
              <Icon name="lock" />
              Lock down…
            </button>
          )
        ) : null}
      </div>
      {tenants.length === 0 ? null : (
        <ul>
          {tenants.map(({ tenant_id, reason, since }) => (
            <li key={tenant_id}>
              <span className="avatar" aria-hidden="true">
                <Icon name="lock" />
              </span>
              <span>
                <b className="strong">{tenant_id}</b> is locked
                <small>
                  since {momentText(since)}: <PlainText text={reason} />
                </small>
              </span>
              <button
                type="button"
                className="button small"
                aria-label={`Lift the lockdown of ${tenant_id}`}
                onClick={() => askToLift(tenant_id)}
              >
                Lift…
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function askToLockDown(running: string): void {
  const draft = newDraft({ reason: "" });
  askFirst({
    title: `Lock down ${hubName}?`,
    points: [
      {
        icon: "lock",
        text: (
          <>
            No worker may claim. <b>{running} running jobs</b> are taken back and wait again without charge;
            those that are allowed one attempt and have begun fail.
          </>
        ),
      },
      { icon: "key", text: "The signing keys stay. If others may know one, rotate it in an emergency too." },
      {
        icon: "audit",
        text: "Recorded with your name, and alerted. It lasts, across restarts, until an administrator lifts it.",
      },
    ],
    body: <TextField draft={draft} name="reason" label="Reason" placeholder="shown to everybody" isFirst />,
    typed: asksForHub,
    acts: [
      {
        label: "Lock down",
        tone: "alarm",
        run: async () => {
          const body = { reason: (draft.values.get()["reason"] ?? "").trim() };
          if (!isRight(draft, lockdownRequest, body)) return "again";
          await callHub(pageRoutes.lockDown, { body });
          reloadLockdown();
          showToast({ icon: "lock", text: "The hub is locked" });
          return undefined;
        },
      },
    ],
  });
}
