import { Command, Help, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "./context.ts";
import { usageLine } from "./exit.ts";
import { type HostNeed, requireHost } from "./require-host.ts";
import { shareOptions } from "./shared-options.ts";
import { parsePast } from "./terminal/duration.ts";
import { ReaderGone } from "./terminal/print.ts";

type CommandFile = { define(command: Command, context: CliContext): void };
type CommandRow = {
  summary: string;
  /** What it asks of the machine (default: any Node that runs the client). */
  needs?: HostNeed;
  load(): Promise<CommandFile>;
};

export type ProgramShape = {
  name: "writ" | "jobctl";
  summary: string;
  commands: Readonly<Record<string, CommandRow>>;
  addOptions(program: Command): void;
};

/** A completion script asks with this word; no person types it. */
export const completeWord = "__complete";

/** Runs the command that the arguments name. Only that command's file is loaded. */
export async function runProgram(context: CliContext, shape: ProgramShape): Promise<number> {
  if (context.args[0] === completeWord) {
    const { printCompletions } = await import("./completion/complete.ts");
    return printCompletions(context, shape);
  }
  const program = buildProgram(context, shape);
  program.hook("preSubcommand", async (_program, command) => {
    const row = shape.commands[command.name()];
    context.commandName = command.name();
    if (row !== undefined) await defineCommand(row, { program, command, context });
  });
  // Not before: any machine shows the help of a command.
  program.hook("preAction", () => {
    requireHost(context, shape.commands[context.commandName ?? ""]?.needs);
  });
  try {
    await program.parseAsync(askForHelp(context.args), { from: "user" });
  } catch (error) {
    if (!(error instanceof ReaderGone)) throw error;
  }
  return context.exitCode;
}

/** Turns `help list` into `list --help`, because that loads the command's file, which declares its options. */
function askForHelp(args: string[]): string[] {
  const [first, command, ...rest] = args;
  return first === "help" && command !== undefined ? [command, "--help", ...rest] : args;
}

/** The program with these commands loaded, by default all, for shell completion and tests. */
export async function loadProgram(
  context: CliContext,
  shape: ProgramShape,
  names: readonly string[] = Object.keys(shape.commands),
): Promise<Command> {
  const program = buildProgram(context, shape);
  for (const command of program.commands) {
    const row = shape.commands[command.name()];
    if (row !== undefined && names.includes(command.name()))
      await defineCommand(row, { program, command, context });
  }
  return program;
}

async function defineCommand(
  row: CommandRow,
  { program, command, context }: { program: Command; command: Command; context: CliContext },
): Promise<void> {
  (await row.load()).define(command, context);
  shareOptions(program, command);
  for (const nested of command.commands) nameHelp(context, nested, command.name(), nested.name());
}

function buildProgram(context: CliContext, { name, summary, commands, addOptions }: ProgramShape): Command {
  const program = new Command(name)
    .description(summary)
    .version(context.version, "--version", "print the version")
    .exitOverride()
    .enablePositionalOptions()
    .configureHelp({ showGlobalOptions: true, visibleGlobalOptions })
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
    });
  nameHelp(context, program);
  addOptions(program);
  for (const [word, row] of Object.entries(commands)) {
    const command = program.command(word).summary(row.summary).description(row.summary);
    nameHelp(context, command, word);
  }
  return program;
}

/**
 * The program's options. If the command has an option of the same name, the program's applies only before the command.
 */
function visibleGlobalOptions(command: Command): Option[] {
  const help = new Help();
  help.showGlobalOptions = true;
  const own = new Set(help.visibleOptions(command).map(({ long }) => long));
  return help
    .visibleGlobalOptions(command)
    .map((option) =>
      own.has(option.long)
        ? new Option(option.flags, `if given before \`${command.name()}\`, ${option.description}`)
        : option,
    );
}

/** Words that other programs have for the commands of jobctl; the error for one names ours. */
const otherWords: Readonly<Record<string, string>> = {
  cancel: "stop ID",
  get: "status ID",
  kill: "stop ID",
  logs: "stream ID, which prints a job's output, live or after it has ended",
  ps: "list",
  show: "status ID",
  tail: "stream ID",
};

/** A usage error is commander's message on one line, with the help to read next. */
function nameHelp(context: CliContext, command: Command, ...words: string[]): void {
  const help = [context.program, ...words, "--help"].join(" ");
  command.configureOutput({
    outputError: (text, write) => {
      const message = text
        .trim()
        .replace(/^error: /, "")
        .replace(/\.$/, "")
        .replaceAll(/\s*\n\s*/g, " ");
      const unknown = help === "jobctl --help" ? /^unknown command '(\w+)'/.exec(message)?.[1] : undefined;
      const ours = otherWords[unknown ?? ""];
      const next = ours === undefined ? `see ${help}` : `use jobctl ${ours}`;
      write(usageLine(context, `${message}; ${next}`));
    },
  });
}

/** Adds `list`, which also runs when the command is given alone. */
export function listByDefault(command: Command): Command {
  // As the default it would also take a mistyped word, and commander could not suggest the right one.
  const [, word] = command.parent?.args ?? [];
  return command.command("list", { isDefault: word === undefined || word.startsWith("-") });
}

/** A commander parser for whole numbers. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** A commander parser made from one that returns undefined for a value that is not allowed. */
export function parsed<T>(parse: (text: string) => T | undefined, allowed: string): (text: string) => T {
  return (text) => {
    const value = parse(text);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`It must be ${allowed}.`);
  };
}

/** A commander parser for moments in the past. */
export const pastMoment = parsed(
  (text) => parsePast(text, Date.now()),
  "a date such as 2030-01-31, or an age such as 2h or 7d",
);

/** A commander parser for an option that may be given several times. */
export function collect(text: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}
