import { errorText } from "../hub/call-hub.ts";
import { signOut } from "../hub/session.ts";
import { showToast } from "./toasts.tsx";

/** Signs out, or says that it failed: the session stays open until the hub has received the call. */
export function leave(): void {
  signOut().catch((error: unknown) =>
    showToast({
      icon: "warning",
      text: "You are still signed in",
      note: `${errorText(error)}. Sign out again when the hub is back.`,
      act: { label: "Try again", run: leave },
    }),
  );
}
