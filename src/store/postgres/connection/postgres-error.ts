// What an error of PostgreSQL means: whether the connection is lost, who is to blame, and what the caller is told.
// Why: ADR 0079.
import { codeOf, WritError } from "../../../core/errors.ts";
import { RefusedAct } from "../../acts/refused-act.ts";
import { MetOthers } from "../transaction/answers.ts";

/**
 * What an error of PostgreSQL means for us. `act`: only this act is wrong. `again`: it met another transaction, and works
 * if it is done once more, by itself. `connection`: the server or the way to it is gone.
 */
type Blame = "act" | "again" | "connection";

/** Ours, from `finish_group`: a queue was removed, or a quota used up, since the decision. */
const ours = ["WR001", "WR002"];
const uniqueViolation = "23505";
const serializationFailure = "40001";
const deadlock = "40P01";

const againCodes = new Set([...ours, uniqueViolation, serializationFailure, deadlock]);

/**
 * Classes of SQLSTATE: connection exceptions, no resources, intervention, system errors, broken files. And the two with
 * which the server ends the connection of a hub that was frozen, or too busy, in the middle of a transaction.
 */
const serverStates = ["08", "53", "57", "58", "XX", "25P03", "25P04"];

export function blame(error: unknown): Blame {
  const code = stateOf(error);
  if (error instanceof WritError || error instanceof RefusedAct) return "act";
  if (error instanceof MetOthers) return "again";
  if (code === null) return isOurMistake(error) ? "act" : "connection";
  if (againCodes.has(code)) return "again";
  return serverStates.some((prefix) => code.startsWith(prefix)) ? "connection" : "act";
}

/** The server refuses a statement because an earlier one of its transaction has failed. */
export function isAborted(error: unknown): boolean {
  return stateOf(error) === "25P02";
}

/** Errors of the language: a bug of ours and not a lost connection. */
function isOurMistake(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

/** Nothing was sent yet, so nothing was stored. The advice names the server without the rest of its address. */
export function unreachable(error: unknown, url: string): WritError {
  if (error instanceof WritError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const refusal = refusalOf(reason, { sqlstate: stateOf(error) ?? "", hasPassword: hasPassword(url) });
  if (refusal !== null)
    return new WritError("STORE_UNAVAILABLE", refusal, { ...stated(error), reason, advice: "" });
  if (stateOf(error) !== null) return storeUnavailable(error);
  const server = URL.canParse(url) ? ` at ${new URL(url).host}` : "";
  return new WritError("STORE_UNAVAILABLE", "the PostgreSQL server of WRIT_DATABASE_URL cannot be reached", {
    away: true,
    reason,
    advice: `see that it runs${server}, and that address, network and firewall are right (${codeOf(error)})`,
  });
}

/** What stands in the way of a connection and will not go away by itself; null for everything else. */
function refusalOf(
  reason: string,
  { sqlstate, hasPassword: has }: { sqlstate: string; hasPassword: boolean },
): string | null {
  if (!has && (sqlstate === "28P01" || /client password must be a/.test(reason)))
    return "the PostgreSQL server asks for a password, and WRIT_DATABASE_URL has none; write postgres://user:password@host/database, or name a private file that contains it with WRIT_DATABASE_PASSWORD_FILE";
  if (/pg_hba\.conf/.test(reason))
    return `PostgreSQL allows no connection from this address for the user and database in WRIT_DATABASE_URL; add a line to pg_hba.conf${/no encryption/.test(reason) ? ", or add ?sslmode=require if it allows only encrypted ones" : ""}`;
  if (/does not support SSL/.test(reason))
    return "the PostgreSQL server of WRIT_DATABASE_URL does not offer TLS; turn on ssl there, or leave out sslmode";
  if (/certificate|altnames/i.test(reason))
    return `the certificate of the PostgreSQL server is not accepted (${reason}); name its authority with sslrootcert=FILE in WRIT_DATABASE_URL, and use a host name that it is made for`;
  return null;
}

function hasPassword(url: string): boolean {
  return (URL.parse(url)?.password ?? "") !== "";
}

function stated(error: unknown): { sqlstate?: string } {
  const sqlstate = stateOf(error);
  return sqlstate === null ? {} : { sqlstate };
}

/** Whether the server itself has answered, if only with a refusal. */
export function isServerAnswer(error: unknown): boolean {
  return error instanceof WritError && typeof error.details?.["sqlstate"] === "string";
}

/** The server is known to be silent, so nothing was sent. */
export function silentServer(): WritError {
  return new WritError(
    "STORE_UNAVAILABLE",
    "the PostgreSQL server of WRIT_DATABASE_URL does not answer; nothing was changed",
    {
      away: true,
      advice: "see that the server is not frozen or overloaded, and that the network to it works",
    },
  );
}

/** The error as callers see it. The advice is for a command that opens the database itself: callers of a hub get none. */
export function storeUnavailable(error: unknown): WritError {
  if (error instanceof WritError) return error;
  const sqlstate = stateOf(error) ?? "";
  const reason = error instanceof Error ? error.message : String(error);
  const known = sentences.find(([prefix]) => sqlstate.startsWith(prefix))?.[1];
  if (known !== undefined) {
    const full = sqlstate === diskFull && { full: true };
    return new WritError("STORE_UNAVAILABLE", known, { sqlstate, reason, advice: "", ...full });
  }
  return outcomeUnknown(error);
}

/** The error of a command that only reads: what is known has its sentence, and everything else stays as it is. */
export function openingError(error: unknown): unknown {
  const sqlstate = stateOf(error) ?? "";
  const isKnown = sentences.some(([prefix]) => sqlstate.startsWith(prefix));
  return isKnown || blame(error) === "connection" ? storeUnavailable(error) : error;
}

/** The connection was lost, and it is known that nothing of the call was kept, or ever will be. */
export function nothingStored(error: unknown): WritError {
  if (error instanceof WritError) return error;
  const unavailable = storeUnavailable(error);
  return unavailable.message === unknown
    ? new WritError("STORE_UNAVAILABLE", lost, unavailable.details)
    : unavailable;
}

/** A commit was on its way, and no server can be asked whether it arrived. */
export function outcomeUnknown(error: unknown): WritError {
  const reason = error instanceof Error ? error.message : String(error);
  return new WritError("STORE_UNAVAILABLE", unknown, {
    away: true,
    ...stated(error),
    reason,
    advice: `see that the server of WRIT_DATABASE_URL runs and can be reached (${codeOf(error)})`,
  });
}

export const poolerText =
  "WRIT_DATABASE_URL leads to a pooler that lends connections for single transactions (PgBouncer with pool_mode = transaction); use the address of PostgreSQL itself, or pool_mode = session";

const diskFull = "53100";

const sentences: [string, string][] = [
  // A prepared statement that another connection has made, or that is gone: connections are lent.
  ["42P05", poolerText],
  ["26000", poolerText],
  ["28", "PostgreSQL refuses the user or the password in WRIT_DATABASE_URL or WRIT_DATABASE_PASSWORD_FILE"],
  ["3D", "the database in WRIT_DATABASE_URL does not exist; create it first: CREATE DATABASE"],
  [
    "42501",
    "the user in WRIT_DATABASE_URL may not do this in the database; make it the owner of the database",
  ],
  [diskFull, "the disk of the database is full; nothing was changed"],
  ["53300", "PostgreSQL has no connection left for this hub; raise max_connections"],
  ["25006", "the database only reads at present: it is a copy that follows another server"],
];
const lost = "the database does not answer; nothing was changed";
const unknown = "the database does not answer; whether the call was stored is not known";

/** The SQLSTATE of an error of the server. One of the system, such as EPIPE, may have a code that looks like one. */
export function stateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return null;
  if ("syscall" in error) return null;
  return /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}
