import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { plural } from "../parts/format.ts";
import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";

/** Draining can be undone, so it happens at once. */
export async function drain(worker: WorkerView, onDone: () => void): Promise<void> {
  const { id } = worker;
  const runs = worker.current_jobs ?? 0;
  try {
    await callHub(pageRoutes.drainWorker, { params: { id } });
    onDone();
    showToast({
      icon: "drain",
      text: `${id} is draining`,
      note:
        runs === 0
          ? "it takes no more jobs"
          : `${plural(runs, "job runs", "jobs run")} to the end; it takes no more`,
      act: { label: "Undo", run: () => void undrain(worker, onDone) },
    });
  } catch (error) {
    showToast({ icon: "warning", text: `${id} was not drained`, note: errorText(error) });
  }
}

export async function undrain({ id }: WorkerView, onDone: () => void): Promise<void> {
  try {
    await callHub(pageRoutes.undrainWorker, { params: { id } });
    onDone();
    showToast({ icon: "active", text: `${id} works again` });
  } catch (error) {
    showToast({ icon: "warning", text: `${id} still drains`, note: errorText(error) });
  }
}

export async function unblock({ id }: WorkerView, onDone: () => void): Promise<void> {
  try {
    await callHub(pageRoutes.unblockWorker, { params: { id } });
    onDone();
    showToast({ icon: "active", text: `${id} may work again` });
  } catch (error) {
    showToast({ icon: "warning", text: `${id} is still blocked`, note: errorText(error) });
  }
}

export function askToBlock(worker: WorkerView, onDone: () => void): void {
  const { id } = worker;
  const runs = worker.current_jobs ?? 0;
  askFirst({
    title: `Block ${id}?`,
    points: [
      {
        icon: "stop",
        text:
          runs === 0 ? (
            "It runs no job now."
          ) : (
            <>
              Its <b className="strong">{plural(runs, "running job")}</b> {runs === 1 ? "is" : "are"} stopped
              and go back to the queue; each has used one attempt.
            </>
          ),
      },
      { icon: "block", text: "The hub refuses its reports and gives it nothing until you unblock it." },
      { icon: "audit", text: "Recorded in the audit trail with your name." },
    ],
    body: (
      <p>
        To let it finish first, <b className="strong">drain</b> it instead.
      </p>
    ),
    acts: [
      { label: "Drain instead", tone: "plain", run: () => drain(worker, onDone) },
      {
        label: `Block ${id}`,
        tone: "alarm",
        run: async () => {
          await callHub(pageRoutes.blockWorker, { params: { id } });
          onDone();
          showToast({ icon: "block", text: `${id} is blocked` });
        },
      },
    ],
  });
}

export function askToRemove({ id }: WorkerView, onDone: () => void): void {
  askFirst({
    title: `Remove ${id}?`,
    body: <p>The hub forgets it. If it still runs and its token is valid, it registers again by itself.</p>,
    acts: [
      {
        label: `Remove ${id}`,
        tone: "alarm",
        run: async () => {
          await callHub(pageRoutes.removeWorker, { params: { id } });
          onDone();
          showToast({ icon: "check", text: `${id} is removed` });
        },
      },
    ],
  });
}
