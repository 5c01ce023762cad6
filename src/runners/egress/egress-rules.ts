import { isIP } from "node:net";
import {
  addressNumber,
  type EgressHost,
  type EgressTarget,
  hostName,
  matchesTarget,
} from "../../core/egress.ts";
import { connectionProblem, type Network } from "../../runtime/guarded-fetch/guarded-lookup.ts";

/** What one job may reach. */
export type EgressRules = {
  /** A host must be in each of these lists: the job's, its agent's, the worker's. */
  lists: readonly (readonly EgressTarget[])[];
  /** The worker's own list: only an address in it may be private. */
  ceiling: readonly EgressTarget[];
};

/** Why a job may not ask for this; null if it may. It completes a sentence that begins with the host. */
export function hostProblem({ lists }: EgressRules, wanted: EgressHost): string | null {
  const isAllowed = lists.every((list) => list.some((target) => matchesTarget(target, wanted)));
  return isAllowed ? null : "is not allowed";
}

/** Why nothing may be sent to this address, although its name is allowed; null if it may. */
export function addressProblem(
  { ceiling }: EgressRules,
  network: Network,
  { host, port }: EgressHost,
): string | null {
  const isNamed = ceiling.some(
    (target) => target.kind === "addresses" && matchesTarget(target, { host, port }),
  );
  if (isNamed) return null;
  const problem = connectionProblem(network, host);
  return problem === null ? null : `has an address that is ${problem}`;
}

/** A name or an address as the lists know it; null for what is neither. */
export function normalHost(text: string): string | null {
  const inner = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  if (isIP(inner) !== 0) return inner.includes("%") ? null : inner.toLowerCase();
  return addressNumber(inner) === null ? hostName(inner) : null;
}
