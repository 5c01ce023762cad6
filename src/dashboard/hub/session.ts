import type { z } from "zod";
import { callRoute } from "../../contract/call-route.ts";
import { routes } from "../../contract/routes.ts";
import type { identityView } from "../../contract/trust-view-shapes.ts";
import { WritError } from "../../core/errors.ts";
import { Store, useStore } from "./store.ts";

export type Person = z.infer<typeof identityView>;

/** `unknown` until the hub has said who is signed in. */
type Session =
  | { state: "unknown" }
  /** `why` if a link that should have signed somebody in did not. */
  | { state: "out"; why?: unknown }
  | { state: "unreachable" }
  | { state: "in"; person: Person };

export const session = new Store<Session>({ state: "unknown" });

/** The first thing that the page does: it follows a link of `writ open`, and asks the hub who is signed in. */
export async function enter(): Promise<void> {
  const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return findPerson();
  // The code is worth nothing after its first use; it need not stand in the address and the history either.
  history.replaceState(null, "", location.pathname + location.search);
  try {
    await openSession({ code });
  } catch (error) {
    const found = await askHub();
    session.set(found.state === "out" ? { ...found, why: error } : found);
  }
}

export async function findPerson(): Promise<void> {
  session.set(await askHub());
}

/** Scripts cannot see the cookie; this says whether it is worth asking. To ask without one is a failed login. */
const signedInKey = "writ-signed-in";

/** Who is signed in. The cookie is HttpOnly, so only the hub can tell. */
async function askHub(): Promise<Session> {
  if (localStorage.getItem(signedInKey) === null) return { state: "out" };
  try {
    const response = await fetch("/api/v1/session", { cache: "no-store" });
    if (response.status === 401) {
      localStorage.removeItem(signedInKey);
      return { state: "out" };
    }
    if (response.ok) return { state: "in", person: (await response.json()) as Person };
  } catch {}
  return { state: "unreachable" };
}

/** Signs in with a token, which the page then forgets: the cookie stands for it. */
export async function signIn(token: string): Promise<void> {
  await openSession({ token });
}

async function openSession(by: { token: string } | { code: string }): Promise<void> {
  const { body } = await callRoute(sendPlain, routes.createSession, { body: by });
  localStorage.setItem(signedInKey, "yes");
  session.set({ state: "in", person: body });
}

export async function signOut(): Promise<void> {
  await callRoute(sendPlain, routes.removeSession, {});
  forgetPerson();
}

/** The hub no longer knows this session: the token was revoked, it has expired, or another tab signed out. */
export function forgetPerson(): void {
  localStorage.removeItem(signedInKey);
  session.set({ state: "out" });
}

/** Resolves when somebody is signed in in this browser, here or in another tab: all of them have the same cookie. */
export async function whenSignedIn(): Promise<void> {
  while (localStorage.getItem(signedInKey) === null) await sessionChange();
}

function sessionChange(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = session.subscribe(resolve);
  addEventListener("storage", () => resolve(), { once: true });
  return promise.finally(stop);
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
