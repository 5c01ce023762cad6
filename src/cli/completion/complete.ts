import type { Argument, Command, Option } from "commander";
import type { CliContext } from "../context.ts";
import { commandsWithWords } from "../jobctl/run/split-command.ts";
import { loadProgram, type ProgramShape } from "../program.ts";
import { type Candidates, candidatesOf, kindOfArgument, kindOfOption } from "./candidates.ts";

/**
 * Prints what the last word may become, one per line. The scripts of all shells ask here, so that they are always up to
 * date and can complete what only the hub knows.
 */
export async function printCompletions(context: CliContext, shape: ProgramShape): Promise<number> {
  const words = context.args.slice(1).filter((word) => word !== "=");
  const current = words.at(-1) ?? "";
  // Loading takes time, and a person waits at the prompt: only the command that the line names.
  const program = await loadProgram(context, shape, words.slice(0, -1));
  const place = findPosition(program, words.slice(0, -1));
  const found = place === null ? [] : await optionsAt(context, place, current);
  const fitting = [...new Set(found)].filter((word) => word.startsWith(current));
  context.stdout.write(fitting.map((word) => `${word}\n`).join(""));
  return 0;
}

/** Where in the command line the last word stands. */
type Position = {
  command: Command;
  /** How many arguments the command has already. */
  given: number;
  /** The option whose value comes next. */
  option: Option | undefined;
};

/** Null among the words of a job's own command, which are not completed. */
function findPosition(program: Command, words: readonly string[]): Position | null {
  const place: Position = { command: program, given: 0, option: undefined };
  for (const word of words) {
    const { command, option } = place;
    const nested = command.commands.find((each) => each.name() === word);
    if (option !== undefined) {
      // The connection options decide which hub is asked.
      command.setOptionValue(option.attributeName(), word);
      place.option = undefined;
    } else if (word === "--") return null;
    else if (word.startsWith("-")) place.option = optionNamed(command, word);
    else if (nested !== undefined) place.command = nested;
    else if (takesWords(command)) return null;
    else place.given++;
  }
  return place;
}

function optionNamed(command: Command, word: string): Option | undefined {
  const option = command.options.find(({ long, short }) => long === word || short === word);
  return option?.required || option?.optional ? option : undefined;
}

function takesWords(command: Command): boolean {
  return commandsWithWords.includes(command.name()) && command.parent?.name() === "jobctl";
}

async function optionsAt(context: CliContext, place: Position, current: string): Promise<string[]> {
  const { command, option, given } = place;
  if (option !== undefined) {
    return option.argChoices ?? valuesOf(context, command, { kind: kindOfOption(command, option), current });
  }
  if (current.startsWith("-")) return flagsOf(command);
  if (command.commands.length > 0) return command.commands.map((each) => each.name());
  const argument = argumentAt(command, given);
  if (argument === undefined) return [];
  return (
    argument.argChoices ?? valuesOf(context, command, { kind: kindOfArgument(command, argument), current })
  );
}

function argumentAt({ registeredArguments: all }: Command, index: number): Argument | undefined {
  return all[index] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
}

function flagsOf(command: Command): string[] {
  const names = command.options.flatMap(({ short, long }) => [short ?? "", long ?? ""]);
  return [...names, "--help"].filter((flag) => flag.startsWith("--"));
}

async function valuesOf(
  context: CliContext,
  command: Command,
  asked: Omit<Candidates, "command">,
): Promise<string[]> {
  try {
    return await candidatesOf(context, { ...asked, command });
  } catch {
    // At the prompt an error would be in the way; without candidates the shell completes files.
    return [];
  }
}
