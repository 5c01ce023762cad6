import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";
import { type Holder, revokeHolder } from "./holders.ts";

/** Asks for the name to be typed: a holder that is cut off by mistake needs a new token or certificate. */
export function askToRevoke(holder: Holder, onDone: () => void): void {
  const { by, name, role } = holder;
  askFirst({
    title: `Revoke the ${by} of ${name}?`,
    points: [
      {
        icon: "block",
        text:
          by === "token"
            ? "It stops working at once; its sessions and open streams end within 5 s."
            : "The hub refuses it from its next call on; its open streams end within seconds.",
      },
      {
        icon: "jobs",
        text:
          role === "worker"
            ? "The worker can report nothing any more; its jobs go back to the queue."
            : "Its jobs are not touched.",
      },
      { icon: "audit", text: "It cannot be brought back. Recorded in the audit trail with your name." },
    ],
    typed: { label: "Type the name to continue", word: name },
    acts: [
      {
        label: "Revoke",
        tone: "alarm",
        run: async () => {
          await revokeHolder(holder);
          onDone();
          showToast({ icon: "check", text: `The ${by} of ${name} is revoked` });
        },
      },
    ],
  });
}
