import { noSuchSecret, readSecret } from "../read-secrets.ts";
import { RunFailure, type RunnerSettings, type SecretEntry } from "../runner.ts";
import { secretForms } from "../secret-forms.ts";
import { normalHost } from "./egress-rules.ts";
import type { Injection } from "./injection.ts";

const httpsPort = 443;
/** Where the value stands in a format. */
export const formatPlace = "{secret}";

/** The host and port of `inject.host`; null for what is none. */
export function injectHost(text: string): { host: string; port: number } | null {
  const match = /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text);
  const host = match === null ? null : normalHost(match[1]!);
  const port = match?.[2] === undefined ? httpsPort : Number(match[2]);
  return host === null || port < 1 || port > 65_535 ? null : { host, port };
}

/**
 * The keys that a job asks for, by the host that they are for. A key that does not exist, that is another tenant's or that is
 * for the environment looks the same to the job: NO_SUCH_SECRET. Why: ADR 0120.
 */
export async function readInjections(
  known: RunnerSettings["secrets"],
  names: readonly string[],
  tenantId: string,
): Promise<Map<string, Injection>> {
  const injections = new Map<string, Injection>();
  for (const name of names) {
    const entry = Object.hasOwn(known, name) ? known[name] : undefined;
    if (entry?.inject === undefined || !entry.tenants.includes(tenantId)) throw noSuchSecret(name);
    const value = await readSecret(entry.file);
    const to = injectHost(entry.inject.host);
    if (value === null || to === null) throw noSuchSecret(name);
    const sent = headerValue(name, entry.inject, value);
    const others = injections.get(to.host);
    injections.set(to.host, {
      ...to,
      headers: { ...others?.headers, [entry.inject.header.toLowerCase()]: sent },
      masks: [...new Set([...(others?.masks ?? []), ...secretForms([value, sent])])],
    });
  }
  return injections;
}

function headerValue(name: string, { format }: NonNullable<SecretEntry["inject"]>, value: string): string {
  const sent = (format ?? formatPlace).replace(formatPlace, () => value);
  if (/^[\x20-\x7e]+$/.test(sent)) return sent;
  // Only the operator can know what is in the file, so that is all that is said.
  throw new RunFailure(
    "INVALID_JOB",
    "NO_SUCH_SECRET",
    `the secret ${name} of this worker cannot be sent in a header`,
  );
}
