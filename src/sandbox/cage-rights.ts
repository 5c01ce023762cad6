import { errnoName } from "./launcher/exit-report.ts";
import { type Frame, fieldText, fieldU32 } from "./launcher/launcher-frames.ts";
import { rights, tag } from "./launcher/launcher-protocol.ts";

/** The rights with which the launcher builds cages. Why: ADR 0039. */
export type CageRights =
  /** The rights of root. */
  | { kind: "own" }
  /** The rights in a user namespace, where the worker's user has the id of the user nobody. */
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
