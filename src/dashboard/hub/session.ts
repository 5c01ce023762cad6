import type { z } from "zod";
import { callRoute } from "../../contract/call-route.ts";
import { routes } from "../../contract/routes.ts";
import type { identityView } from "../../contract/view-shapes.ts";
import { WritError } from "../../core/errors.ts";
import { Store, useStore } from "./store.ts";

export type Person = z.infer<typeof identityView>;

/** `unknown` until the hub has said who is signed in. */
type Session =
  | { state: "unknown" }
  | { state: "out" }
  | { state: "unreachable" }
  | { state: "in"; person: Person };

export const session = new Store<Session>({ state: "unknown" });

/** Asks the hub who is signed in. The cookie is HttpOnly, so only the hub can tell. */
export async function findPerson(): Promise<void> {
  try {
    const response = await fetch("/api/v1/session", { cache: "no-store" });
    if (response.status === 401) session.set({ state: "out" });
    else if (response.ok) session.set({ state: "in", person: (await response.json()) as Person });
    else session.set({ state: "unreachable" });
  } catch {
    session.set({ state: "unreachable" });
  }
}

/** Signs in with a token, which the page then forgets: the cookie stands for it. */
export async function signIn(token: string): Promise<void> {
  const { body } = await callRoute(sendPlain, routes.createSession, { body: { token } });
  session.set({ state: "in", person: body });
}

export async function signOut(): Promise<void> {
  await callRoute(sendPlain, routes.removeSession, {});
  forgetPerson();
}

/** The hub no longer knows this session: the token was revoked, it has expired, or another tab signed out. */
export function forgetPerson(): void {
  session.set({ state: "out" });
}

export function usePerson(): Person {
  const current = useStore(session);
  if (current.state !== "in") throw new Error("nobody is signed in");
  return current.person;
}

/** What a person may do here. The hub decides it again for every call. */
export function mayOf({ role, tenant_id }: Person) {
  return {
    act: role === "admin" || role === "user",
    seeFleet: role === "admin" || role === "viewer",
    administer: role === "admin",
    administerHub: role === "admin" && tenant_id === null,
  };
}

async function sendPlain(request: {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
}) {
  const { method, path, headers, body } = request;
  const response = await fetch(path, { method, headers, body: body as BodyInit | undefined }).catch(() => {
    throw new WritError("HUB_UNREACHABLE", "the hub does not answer");
  });
  const text = await response.text();
  const header = (name: string) => response.headers.get(name) ?? undefined;
  return { status: response.status, header, text: () => text };
}
