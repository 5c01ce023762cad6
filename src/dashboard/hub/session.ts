import type { z } from "zod";
import { callRoute } from "../../contract/routes/call-route.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { identityView } from "../../contract/shapes/trust-view-shapes.ts";
import { hasCode, WritError } from "../../core/errors.ts";
import { Store, useStore } from "./store.ts";

export type Person = z.infer<typeof identityView>;

/** `unknown` until the hub has said who is signed in. */
type Session =
  | { state: "unknown" }
  /** `why` is set if the hub ended the session, or if a link of `writ open` did not sign the person in. */
  | { state: "out"; why?: unknown }
  | { state: "unreachable" }
  | { state: "in"; person: Person };

export const session = new Store<Session>({ state: "unknown" });

/**
 * The session of this browser's cookie, which scripts cannot see. All tabs have the same cookie, so each one that signs
 * in or out tells the others by it. A call to the hub without a cookie would count as a failed login.
 */
const sessionKey = "writ-signed-in";
/** Why the last session of this browser ended, for the other tabs. */
const endKey = "writ-signed-out";
/** The person whose page this tab showed before it was loaded again for another person. */
const formerKey = "writ-former-person";

/** The person for whom this document was loaded. Another person gets a new document, so that no data is left in it. */
let owner: Person | null = null;
let isSigningIn = false;

/** Runs first on the page: follows a link of `writ open`, and asks the hub who is signed in. */
export async function enter(): Promise<void> {
  addEventListener("storage", ({ key }) => {
    if (key === sessionKey || key === null) void followBrowser();
  });
  // A link that is opened in a tab which already shows this page does not load it again.
  addEventListener("hashchange", () => void followLink());
  if (!(await followLink())) await findPerson();
}

/** Signs in with the code of a link of `writ open`; false if the address has none. */
async function followLink(): Promise<boolean> {
  const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return false;
  // The code is useless after its first use, and is removed from the address and the history too.
  history.replaceState(null, "", location.pathname + location.search);
  try {
    await openSession({ code });
  } catch (error) {
    const found = await askHub();
    change(found.state === "out" ? { ...found, why: error } : found);
  }
  return true;
}

export async function findPerson(): Promise<void> {
  change(await askHub());
}

/** Asks the hub for the signed-in person: the cookie is HttpOnly, so only the hub can tell. */
async function askHub({ why = "" } = {}): Promise<Session> {
  const known = localStorage.getItem(sessionKey);
  if (known === null) return { state: "out" };
  try {
    const response = await fetch("/api/v1/session", { cache: "no-store" });
    if (response.status === 401) {
      endHere(known, why);
      return { state: "out" };
    }
    if (response.ok) return { state: "in", person: (await response.json()) as Person };
  } catch {
    // The network failed, or the answer was not JSON: the page tries again.
  }
  return { state: "unreachable" };
}

/** Another tab has signed a person in or out. */
async function followBrowser(): Promise<void> {
  const current = session.get();
  const id = localStorage.getItem(sessionKey);
  if (id === null) {
    const why = localStorage.getItem(endKey);
    if (current.state === "in") leave({ state: "out", ...(why ? { why: new Error(why) } : {}) });
  } else {
    const found = await askHub();
    if (found.state !== "unreachable") change(found);
  }
}

/** Shows what the hub has answered. A document never changes from one person to another. */
function change(next: Session, { isHere = false } = {}): void {
  if (next.state !== "in") {
    leave(next);
    return;
  }
  const { person } = next;
  localStorage.setItem(sessionKey, idOf(person));
  if (owner !== null && !isSame(owner, person)) {
    if (isHere) forgetFormerPerson();
    else if (session.get().state === "in") sessionStorage.setItem(formerKey, owner.user_id);
    session.set({ state: "unknown" });
    location.reload();
    return;
  }
  owner = person;
  session.set(next);
}

/** The name of a former person is not shown to a person who signs in later. */
function leave(next: Exclude<Session, { state: "in" }>): void {
  if (next.state === "out") forgetFormerPerson();
  session.set(next);
}

function isSame(one: Person, other: Person): boolean {
  return one.user_id === other.user_id && one.tenant_id === other.tenant_id && one.role === other.role;
}

function idOf({ session_id = "unnamed" }: Person): string {
  return session_id;
}

/** The session that this page belongs to; null while signed out. */
export function sessionId(): string | null {
  const current = session.get();
  return current.state === "in" ? idOf(current.person) : null;
}

/**
 * Names the page's session to the hub, which refuses the call if the browser's cookie has changed to another session.
 */
export function sessionHeaders(): Record<string, string> {
  const current = session.get();
  const id = current.state === "in" ? current.person.session_id : undefined;
  return id === undefined ? {} : { "Writ-Session": id };
}

/** The person who was signed in in this tab before another one signed in in this browser, or null. */
export function formerPerson(): string | null {
  return sessionStorage.getItem(formerKey);
}

export function forgetFormerPerson(): void {
  sessionStorage.removeItem(formerKey);
}

/** Signs in with a token, which the page then forgets: the cookie stands for it. */
export async function signIn(token: string): Promise<void> {
  await openSession({ token });
}

async function openSession(by: { token: string } | { code: string }): Promise<void> {
  isSigningIn = true;
  try {
    const { body } = await callRoute(sendPlain, pageRoutes.createSession, { body: by });
    change({ state: "in", person: body }, { isHere: true });
  } finally {
    isSigningIn = false;
  }
}

export async function signOut(): Promise<void> {
  const id = sessionId();
  try {
    await callRoute(sendPlain, pageRoutes.removeSession, { headers: sessionHeaders() });
  } catch (error) {
    if (!hasCode(error, "UNAUTHENTICATED")) throw error;
    refused(error, id);
    return;
  }
  if (id !== null) endHere(id, "you have signed out in another tab");
  leave({ state: "out" });
}

/**
 * The hub has answered 401 to a call of this session: it has ended, or another person has signed in in this browser.
 */
export function refused(error: unknown, id: string | null): void {
  // An answer to a call of an earlier session does not concern this one, and a sign-in here replaces it anyway.
  if (id === null || id !== sessionId() || isSigningIn) return;
  const isReplaced = error instanceof WritError && error.details?.["session"] === "replaced";
  if (isReplaced || localStorage.getItem(sessionKey) !== id) void followBrowser();
  else void confirmEnd(id, error);
}

/**
 * Another tab may be signing a person in at this moment: the old session has ended, and this call still went out with
 * its cookie. So the hub is asked once more, with the cookie that the browser has by then.
 */
async function confirmEnd(id: string, error: unknown): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, signInMs));
  if (id !== sessionId()) return;
  const found = await askHub({ why: error instanceof Error ? error.message : "" });
  if (found.state === "unreachable" || id !== sessionId()) return;
  change(found.state === "out" ? { ...found, why: error } : found);
}

/** The time that a browser may need for the new cookie after the hub has replaced a session. */
const signInMs = 500;

/** Tells the other tabs too, unless one of them has signed a person in since. */
function endHere(id: string, why: string): void {
  if (localStorage.getItem(sessionKey) !== id) return;
  localStorage.setItem(endKey, why);
  localStorage.removeItem(sessionKey);
}

export function usePerson(): Person {
  const current = useStore(session);
  if (current.state !== "in") throw new Error("usePerson: no person is signed in");
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
