import { isIP } from "node:net";
import { downloadUrlProblem } from "../../core/download-url.ts";
import { addressProblem } from "./address-problem.ts";
import { type AllowedHost, hostOf, isAllowedHost } from "./allowed-host.ts";
import { FetchError } from "./fetch-error.ts";

/** A URL that may be fetched or called, as far as can be known before its host is resolved. */
export type CheckedUrl = {
  url: URL;
  /** The operator allows this host, whatever addresses it has. */
  isAllowed: boolean;
};

/** What the URL is for, as the refusals say it. */
export type UrlPurpose = { verb: "fetched" | "called"; operator: string; setting: string };

const download: UrlPurpose = { verb: "fetched", operator: "the worker's operator", setting: "SOLVER_HOSTS" };

/** Throws FetchError `forbidden`. Nothing is resolved or connected to here. */
export function checkUrl(
  text: string,
  allowed: readonly AllowedHost[],
  purpose: UrlPurpose = download,
): CheckedUrl {
  const problem = downloadUrlProblem(text);
  if (problem !== null) throw new FetchError("forbidden", `the URL ${problem}`);
  const url = new URL(text);
  if (isAllowedHost(url, allowed)) return { url, isAllowed: true };
  const refusal = hostProblem(url, purpose);
  if (refusal === null) return { url, isAllowed: false };
  throw new FetchError(
    "forbidden",
    `${refusal}; only ${purpose.operator} can allow ${url.host} (${purpose.setting})`,
  );
}

/** The rules for a host that the settings do not allow. */
function hostProblem(url: URL, { verb }: UrlPurpose): string | null {
  const host = hostOf(url);
  if (url.protocol !== "https:") return `${url.host} may be ${verb} only by https`;
  if (url.port !== "") return `${url.host} may be ${verb} only at port 443`;
  // Names of this machine, whatever the resolver says about them.
  if (host === "localhost" || host.endsWith(".localhost")) return `${host} is this machine`;
  const literal = host.replace(/^\[(.*)\]$/, "$1");
  const problem = isIP(literal) === 0 ? null : addressProblem(literal);
  return problem === null ? null : `${host} is ${problem}`;
}
