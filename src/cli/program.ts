import { Command, InvalidArgumentError } from "commander";
import type { CliContext } from "./context.ts";

export type CommandFile = { define(command: Command, context: CliContext): void };
export type CommandRow = { summary: string; load(): Promise<CommandFile> };

export type ProgramShape = {
  name: "writ" | "jobctl";
  summary: string;
  commands: Readonly<Record<string, CommandRow>>;
  addOptions(program: Command): void;
};

/** Runs the command that the words name. Its file is loaded only then, so that every other one costs nothing. */
export async function runProgram(context: CliContext, shape: ProgramShape): Promise<number> {
  const program = buildProgram(context, shape);
  program.hook("preSubcommand", async (_program, command) => {
    const row = shape.commands[command.name()];
    if (row !== undefined) (await row.load()).define(command, context);
  });
  await program.parseAsync(askForHelp(context.args), { from: "user" });
  return context.exitCode;
}

/** `help list` is `list --help`: only that way is the command's file loaded, which knows its options. */
function askForHelp(args: string[]): string[] {
  const [first, command, ...rest] = args;
  return first === "help" && command !== undefined ? [command, "--help", ...rest] : args;
}

/** The whole program with every command loaded, for whoever wants to look at all of it. */
export async function loadProgram(context: CliContext, shape: ProgramShape): Promise<Command> {
  const program = buildProgram(context, shape);
  for (const command of program.commands)
    (await shape.commands[command.name()]?.load())?.define(command, context);
  return program;
}

function buildProgram(context: CliContext, { name, summary, commands, addOptions }: ProgramShape): Command {
  const program = new Command(name)
    .description(summary)
    .version(context.version, "--version", "print the version")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
      outputError: (text, write) => write(usageLine(name, text)),
    });
  addOptions(program);
  for (const [command, row] of Object.entries(commands))
    program.command(command).summary(row.summary).description(row.summary);
  return program;
}

function usageLine(name: string, text: string): string {
  const said = text
    .trim()
    .replace(/^error: /, "")
    .replaceAll(/\s*\n\s*/g, " ");
  return `${name}: ${said}; see ${name} --help\n`;
}

/** A commander parser for whole numbers. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** A commander parser out of one that gives undefined for what is not allowed. */
export function parsed<T>(parse: (text: string) => T | undefined, allowed: string): (text: string) => T {
  return (text) => {
    const value = parse(text);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`It must be ${allowed}.`);
  };
}

/** A commander parser for an option that may be given several times. */
export function collect(text: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}
