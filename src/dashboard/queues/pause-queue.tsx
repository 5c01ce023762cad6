import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { isRight, newDraft, TextField } from "../parts/form.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";

/** A pause can be undone, so it happens at once. It holds a type for all tenants. */
export async function setPaused(type: string, paused: boolean, onDone: () => void): Promise<void> {
  try {
    await callHub(pageRoutes.setQueuePaused, { params: { type }, body: { paused } });
    onDone();
    showToast({
      icon: paused ? "pause" : "active",
      text: paused ? `${type} is paused` : `${type} is open again`,
      note: paused ? "For all tenants; what runs already continues." : undefined,
      act: paused ? { label: "Undo", run: () => void setPaused(type, false, onDone) } : undefined,
    });
  } catch (error) {
    showToast({ icon: "warning", text: `${type} was not changed`, note: errorText(error) });
  }
}

/** Pauses a type that has no jobs yet, and so no row in the table. */
export function askToPauseType(onDone: () => void): void {
  const draft = newDraft({ type: "" });
  askFirst({
    title: "Pause a type",
    body: (
      <div className="form-fields">
        <p>Jobs of this type are accepted and wait, in all tenants, until it is resumed.</p>
        <TextField draft={draft} name="type" label="Type" placeholder="video.transcode.v2" isFirst />
      </div>
    ),
    acts: [
      {
        label: "Pause it",
        tone: "main",
        run: async () => {
          const type = (draft.values.get()["type"] ?? "").trim();
          if (!isRight(draft, pageRoutes.setQueuePaused.params, { type })) return "again";
          await setPaused(type, true, onDone);
          return undefined;
        },
      },
    ],
  });
}
