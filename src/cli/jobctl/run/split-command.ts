import { WritError } from "../../../core/errors.ts";

/** Flags that belong to jobctl anywhere before `--`, each with an example value. */
export const limitFlags = {
  "--cpu": "500m",
  "--mem": "100M",
  "--memory": "100M",
  "--io": "low",
  "--pids": "64",
  "--network": "none",
  "--timeout": "10m",
  "--tag": "gpu",
} as const satisfies Record<`--${string}`, string>;

/** jobctl's other flags that take a value. They are recognised only before the first word of the command. */
export const valueFlags: readonly string[] = [
  "--home",
  "--hub",
  "--grpc",
  "--user",
  "--ca",
  "--cert",
  "--key",
  "--token",
  "--env",
  "--allow",
  "--inject",
  "--cwd",
  "--attempts",
  "--input",
  "--collect",
  "--output",
];

/** The commands that are followed by the words of a job's own command. */
export const commandsWithWords: readonly string[] = ["start", "run"];

type SplitCommand = {
  /** What is left for the option parser: jobctl's own command and flags. */
  args: string[];
  /** The words of the command to run; undefined when jobctl's command takes none. */
  words: string[] | undefined;
};

/**
 * Separates jobctl's own words from those of the command in `jobctl start COMMAND ARGS…`. The option parser must not
 * see the command's words: they may look like options, and have to reach the program unchanged and in order.
 */
export function splitCommand(given: readonly string[]): SplitCommand {
  const nameAt = skipFlags(given, 0, ownLength);
  if (given[nameAt] === "submit" || given[nameAt] === "schedules" || given[nameAt] === "hooks")
    return splitAtDashes(given);
  if (!commandsWithWords.includes(given[nameAt] ?? "")) return { args: [...given], words: undefined };
  const firstAt = skipFlags(given, nameAt + 1, anyLength);
  const args = given.slice(0, firstAt);
  const rest = given.slice(firstAt);
  // After a leading `--`, every word belongs to the command.
  if (rest[0] === "--") return { args, words: rest.slice(1) };
  const { limits, words } = takeLimits(rest);
  return { args: [...args, ...limits], words };
}

/** What follows `--` is the command and nothing else: without a type before it, its first word must not become the type. */
function splitAtDashes(given: readonly string[]): SplitCommand {
  const at = given.indexOf("--");
  return at === -1
    ? { args: [...given], words: undefined }
    : { args: given.slice(0, at), words: given.slice(at + 1) };
}

/** The name of jobctl's own command, such as `start`. */
export function commandName(given: readonly string[]): string | undefined {
  return given[skipFlags(given, 0, ownLength)];
}

/** The index of the first word that is neither a flag nor a flag's value, or of the `--` before it. */
function skipFlags(
  given: readonly string[],
  from: number,
  lengthAt: (given: readonly string[], index: number) => number,
): number {
  let index = from;
  while (index < given.length) {
    const word = given[index]!;
    // A single dash is an ordinary word; many programs read it as standard input.
    if (word === "--" || word === "-" || !word.startsWith("-")) return index;
    index += lengthAt(given, index);
  }
  return given.length;
}

/** How many words one of jobctl's own flags takes. */
function ownLength(given: readonly string[], index: number): number {
  return valueFlags.includes(given[index]!) ? 2 : 1;
}

function anyLength(given: readonly string[], index: number): number {
  if (!isLimit(given[index]!)) return ownLength(given, index);
  return limitTakesNext(given, index) ? 2 : 1;
}

/** Takes the limits out of the words up to the first `--`, which stays with the command. */
function takeLimits(rest: readonly string[]): { limits: string[]; words: string[] } {
  const limits: string[] = [];
  const words: string[] = [];
  for (let index = 0; index < rest.length; index++) {
    const word = rest[index]!;
    if (word === "--") return { limits, words: [...words, ...rest.slice(index)] };
    if (!isLimit(word)) {
      words.push(word);
      continue;
    }
    limits.push(word);
    if (limitTakesNext(rest, index)) limits.push(rest[++index]!);
  }
  return { limits, words };
}

function isLimit(word: string): boolean {
  return Object.hasOwn(limitFlags, nameOf(word));
}

/** `--cpu 500m` is two words, `--cpu=500m` one. No value begins with a dash, so a dash means the value is missing. */
function limitTakesNext(given: readonly string[], index: number): boolean {
  const word = given[index]!;
  if (word.includes("=")) return false;
  const next = given[index + 1];
  if (next !== undefined && !next.startsWith("-")) return true;
  throw new WritError(
    "INVALID_ARGUMENT",
    `${word} needs a value, for example ${word} ${limitFlags[word as keyof typeof limitFlags]}`,
    { advice: "to pass it to the command itself, put -- before the command" },
  );
}

function nameOf(word: string): string {
  const equals = word.indexOf("=");
  return equals === -1 ? word : word.slice(0, equals);
}
