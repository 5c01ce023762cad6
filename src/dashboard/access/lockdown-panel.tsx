import { routes } from "../../contract/routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { countLabel, useCounts } from "../hub/counts.ts";
import { useHealth } from "../hub/health.ts";
import { Icon } from "../parts/icon.tsx";
import { StateIcon } from "../parts/state.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";

export function LockdownPanel() {
  const isLocked = useHealth()?.lockdown !== undefined;
  const counts = useCounts();
  const running = counts === undefined ? "the" : countLabel(counts.running);
  return (
    <section className="panel">
      <header>
        <h2>Lockdown</h2>
        <span className="grow" />
        <span className="state" data-state={isLocked ? "failed" : "completed"}>
          <StateIcon state={isLocked ? "failed" : "completed"} />
          {isLocked ? "active" : "not active"}
        </span>
      </header>
      <div className="panel-text dim">
        <p>Stops every claim and every running job at once. Only a person lifts it.</p>
        {isLocked ? null : (
          <button type="button" className="button small danger" onClick={() => askToLockDown(running)}>
            <Icon name="lock" />
            Lock down…
          </button>
        )}
      </div>
    </section>
  );
}

function askToLockDown(running: string): void {
  askFirst({
    title: `Lock down ${location.hostname}?`,
    points: [
      {
        icon: "lock",
        text: (
          <>
            No worker may claim. <b className="strong">{running} running jobs</b> are killed and wait again;
            none is charged an attempt.
          </>
        ),
      },
      { icon: "key", text: "An emergency rotation of the signing key starts." },
      { icon: "audit", text: "Every administrator is told. Only a person lifts it." },
    ],
    typed: { label: "Type the hub’s name to go on", word: location.hostname },
    acts: [
      {
        label: "Lock down",
        tone: "alarm",
        run: async () => {
          await callHub(routes.lockDown, { body: { reason: "locked from the dashboard" } });
          showToast({ icon: "lock", text: "The hub is locked" });
        },
      },
    ],
  });
}
