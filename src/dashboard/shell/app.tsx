import { useEffect } from "react";
import { startFeed } from "../hub/live-feed.ts";
import { findPerson, session, sessionId } from "../hub/session.ts";
import { useStore } from "../hub/store.ts";
import { forgetQueries } from "../hub/use-query.ts";
import { LoginPage } from "../login/login-page.tsx";
import { Icon, IconSheet } from "../parts/icon.tsx";
import { Confirm } from "./confirm.tsx";
import { Shell } from "./shell.tsx";
import { Toasts } from "./toasts.tsx";

/** How often the page looks for a hub that did not answer at the start. */
const searchMs = 3_000;

export function App() {
  const current = useStore(session);
  return (
    <>
      <IconSheet />
      {current.state === "in" ? <SignedIn session={sessionId() ?? ""} /> : null}
      {current.state === "out" ? <LoginPage why={current.why} /> : null}
      {current.state === "unreachable" ? <Unreachable /> : null}
      <Toasts />
    </>
  );
}

function SignedIn({ session: id }: { session: string }) {
  useEffect(() => startFeed(id), [id]);
  useEffect(() => forgetQueries, []);
  return (
    <>
      <Shell />
      <Confirm />
    </>
  );
}

function Unreachable() {
  useEffect(() => {
    const timer = setInterval(() => void findPerson(), searchMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <main className="empty">
      <Icon name="warning" />
      <h2>The hub does not answer</h2>
      <p>This page tries again every few seconds.</p>
    </main>
  );
}
