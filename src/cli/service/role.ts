import { InvalidArgumentError } from "commander";
import type { ServiceRole } from "./unit.ts";

/** A commander parser for the role of a service; by default it is both, as in `writ up`. */
export function serviceRole(word: string): ServiceRole {
  if (word === "hub" || word === "worker") return word;
  throw new InvalidArgumentError("It must be hub or worker; leave it out for both.");
}
