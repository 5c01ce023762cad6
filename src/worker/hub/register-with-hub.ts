import { hasCode, type WritError } from "../../core/errors.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { HubCalls, Registration } from "./hub-calls.ts";

type RegisterDeps = { calls: Pick<HubCalls, "register">; logger: Logger };

/**
 * Registers with a hub that may be older than this worker. Hubs of today ignore what they do not know; the first versions refuse it
 * and name it. Such a field is left out: a hub that does not know it would not use it. Every registration tries all fields
 * again, because the hub may have been replaced by a newer one.
 */
export async function registerWithHub(
  { calls, logger }: RegisterDeps,
  full: Registration,
  signal: AbortSignal,
): Promise<void> {
  try {
    return await calls.register(full, signal);
  } catch (error) {
    const unknown = unknownFields(error);
    if (unknown.length === 0) throw error;
    const entries = Object.entries(full).filter(([field]) => !unknown.includes(field));
    await calls.register(Object.fromEntries(entries) as Registration, signal);
    const fields = unknown.join(", ");
    logger.warn({ fields: unknown }, `the hub is older than this worker and does not know ${fields}`);
  }
}

/** The fields that the hub does not know, if there is nothing else that it refuses. */
function unknownFields(error: unknown): string[] {
  if (!hasCode(error, "INVALID_ARGUMENT")) return [];
  const issues = (error as WritError).details?.["issues"];
  if (!Array.isArray(issues)) return [];
  const names = issues.map((issue: { path?: unknown; message?: unknown }) =>
    issue.message === "is an unknown field" ? /^\w+/.exec(String(issue.path))?.[0] : undefined,
  );
  return names.every((name) => name !== undefined) ? [...new Set(names)] : [];
}
