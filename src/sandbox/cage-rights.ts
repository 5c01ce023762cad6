import { errnoName } from "./launcher/exit-report.ts";
import { type Frame, fieldText, fieldU32 } from "./launcher/launcher-frames.ts";
import { rights, tag } from "./launcher/launcher-protocol.ts";

/** By which right the launcher builds cages. Why: ADR 0039. */
export type CageRights =
  /** Those of root. */
  | { kind: "own" }
  /** Those of a user namespace, in which the worker's user is nobody. */
  | { kind: "user-namespace" }
  | { kind: "none"; why: string };

/** As the launcher reports it when it is ready. */
export function rightsIn(ready: Frame): CageRights {
  const kind = fieldU32(ready, tag.RIGHTS);
  if (kind === rights.OWN) return { kind: "own" };
  if (kind === rights.USER_NAMESPACE) return { kind: "user-namespace" };
  const code = errnoName(fieldU32(ready, tag.ERRNO) ?? 0);
  return { kind: "none", why: `${code}: ${fieldText(ready, tag.MESSAGE)}` };
}
