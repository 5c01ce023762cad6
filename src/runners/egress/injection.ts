import type { EgressHost } from "../../core/egress.ts";

/** What is added to requests to one host. */
export type Injection = EgressHost & {
  /** By name in lower case. */
  headers: Readonly<Record<string, string>>;
  /** All forms of the values that are overwritten in answers. */
  masks: readonly string[];
};
