import { errorText } from "../hub/call-hub.ts";
import { signOut } from "../hub/session.ts";
import { showToast } from "./toasts.tsx";

/** Signs out, or says that it could not be done: until the hub has heard of it, the session is still open. */
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
