import { invalidArgument } from "../core/errors.ts";
import { similarWord } from "./settings/similar-word.ts";

/** The names of an options type: the type checker asks for each of them, and for no other. */
export type OptionNames<Options> = { [Name in keyof Required<Options>]: true };

/**
 * Refuses options that the call does not have: in JavaScript nothing else notices them, and what they were meant for would
 * silently not be done. `place` may say where an option belongs that others of our calls have.
 */
export function checkOptions(
  call: string,
  options: object,
  names: Readonly<Record<string, true>>,
  place: (name: string) => string | undefined = () => undefined,
): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name)) continue;
    const allowed = Object.keys(names);
    const meant = similarWord(name, allowed);
    const advice = place(name) ?? (meant && `did you mean ${meant}?`);
    const message = `is not an option of ${call}; ${advice === undefined ? "" : `${advice} `}allowed: ${allowed.join(", ")}`;
    throw invalidArgument({ path: name, message });
  }
}
