import { join, relative } from "node:path";
import type { CliContext } from "./context.ts";

type StartPlace = Pick<CliContext, "checkout" | "cwd" | "env">;

/**
 * What this person types for one of our programs. A checkout has them in bin/. An installed package has them on the PATH, unless
 * it is installed in a folder of a project: then npx finds them, and says so in the environment.
 */
export function typedName(program: CliContext["program"], { checkout, cwd, env }: StartPlace): string {
  if (checkout === undefined) return env["npm_command"] === "exec" ? `npx ${program}` : program;
  const place = join(checkout, "bin", program);
  const near = relative(cwd, place);
  return shellWord(near.startsWith("..") ? place : near);
}

/** A word as a shell reads it. */
export function shellWord(word: string): string {
  return /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
