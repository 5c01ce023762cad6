import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { rotateRequest } from "../../contract/shapes/admin-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { ChoiceField, newDraft } from "../parts/form.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { asksForHub } from "../shell/hub-name.ts";
import { showToast } from "../shell/toasts.tsx";

const recorded = { icon: "audit", text: "Recorded in the audit trail with your name." } as const;

export function askToRotate(onDone: () => void): void {
  askFirst({
    title: "Rotate the signing key?",
    points: [
      {
        icon: "key",
        text: "A new key signs from now on. For 14 days claims carry both signatures, so no worker is cut off.",
      },
      { icon: "fleet", text: "Workers get the new key from the hub, signed by the old one." },
      recorded,
    ],
    acts: [
      {
        label: "Others may know the key…",
        tone: "plain",
        run: () => askToRotateNow(onDone),
      },
      { label: "Rotate", tone: "main", run: () => rotate({}, onDone) },
    ],
  });
}

const notices = [
  ["3600", "in an hour, so that workers can fetch the new key first"],
  ["86400", "in a day, so that workers can fetch the new key first"],
  ["0", "at once: each worker has to be given the new key by hand"],
] as const;

/** Dangerous: leases become void, and workers that do not receive the new key in time are cut off. */
function askToRotateNow(onDone: () => void): void {
  const draft = newDraft({ notice: notices[0][0] });
  askFirst({
    title: "Rotate in an emergency?",
    points: [
      {
        icon: "key",
        text: "A new key signs. The old ones are revoked, and their private halves are deleted.",
      },
      {
        icon: "stop",
        text: "Every lease that they signed is then void: those jobs are stopped and wait again, and are not charged.",
      },
      recorded,
    ],
    body: <ChoiceField draft={draft} name="notice" label="The old keys end" choices={notices} />,
    typed: asksForHub,
    acts: [
      {
        label: "Rotate in an emergency",
        tone: "alarm",
        run: () => rotate({ emergency: true, notice_sec: Number(draft.values.get()["notice"]) }, onDone),
      },
    ],
  });
}

async function rotate(how: { emergency?: boolean; notice_sec?: number }, onDone: () => void): Promise<void> {
  const { body } = await callHub(pageRoutes.rotateKeys, { body: rotateRequest.parse(how) });
  onDone();
  showToast({ icon: "key", text: "A new key signs", note: body.key_id });
}

export function askToRevokeKey(keyId: string, onDone: () => void): void {
  const run = (now: boolean) => async () => {
    await callHub(pageRoutes.revokeKey, { params: { id: keyId }, body: { now } });
    onDone();
    showToast({ icon: "block", text: "The key is revoked", note: keyId });
  };
  askFirst({
    title: `Revoke key ${keyId}?`,
    points: [
      { icon: "block", text: "It signs nothing more, and workers drop it. It cannot be brought back." },
      {
        icon: "fleet",
        text: "A worker that has not fetched the newer key yet gets no jobs until it is given the key.",
      },
      recorded,
    ],
    body: (
      <p>
        If others may know the key, void its leases too: the jobs that run under it are stopped and wait
        again.
      </p>
    ),
    typed: asksForHub,
    acts: [
      { label: "Revoke", tone: "main", run: run(false) },
      { label: "Revoke, void its leases", tone: "alarm", run: run(true) },
    ],
  });
}
