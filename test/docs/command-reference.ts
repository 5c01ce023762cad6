import type { Command, Option } from "commander";
import { buildAgentProgram } from "../../src/agent/program.ts";
import type { CliContext } from "../../src/cli/context.ts";
import { createContext } from "../../src/cli/create-context.ts";
import { jobctlShape } from "../../src/cli/jobctl/program.ts";
import { loadProgram } from "../../src/cli/program.ts";
import { writShape } from "../../src/cli/writ/program.ts";

const head = `# Commands

Every command of \`jobctl\`, \`writ\` and \`writ-agent\` with its options, as their \`--help\` shows them. [Getting started](getting-started.md)
explains the usual ones. Where a command has an option of the same name as one of every command, the latter is given before the
command: in \`jobctl --user ann list --user bob\`, ann asks for bob's jobs. This page is made from the programs by \`npm test -- test/docs/commands.test.ts -u\`.`;

/** The page of all commands, as the programs describe them. */
export async function commandReference(): Promise<string> {
  return `${[head, ...(await loadPrograms()).flatMap(describeProgram)].join("\n\n")}\n`;
}

export async function loadPrograms(): Promise<Command[]> {
  return [
    await loadProgram(contextOf("jobctl"), jobctlShape),
    await loadProgram(contextOf("writ"), writShape),
    buildAgentProgram({ version: "" } as never, () => {}),
  ];
}

function contextOf(program: "jobctl" | "writ"): CliContext {
  const stream = { on: () => stream, write: () => true };
  const process = { argv: [], env: {}, execPath: "", cwd: () => "/", stdout: stream, stderr: stream };
  return createContext(program, process as never);
}

function describeProgram(program: Command): string[] {
  const visible = program
    .createHelp()
    .visibleCommands(program)
    .filter((command) => command.name() !== "help");
  const commands = visible.flatMap((command) => [command, ...command.commands]);
  return [
    `## ${program.name()}`,
    program.description(),
    "Options of every command:",
    optionTable(program.options),
    ...commands.flatMap(describeCommand),
  ];
}

function describeCommand(command: Command): string[] {
  const sections = [`### ${pathOf(command)}`, `${sentence(command.description())}`];
  if (command.commands.length === 0)
    sections.push(`\`\`\`text\n${pathOf(command)} ${command.usage()}\n\`\`\``);
  const args = command.registeredArguments.filter(({ description }) => description !== "");
  if (args.length > 0) {
    sections.push(
      table(
        "argument",
        args.map((arg) => [`\`${arg.name()}\``, cell(arg.description)]),
      ),
    );
  }
  const options = command.options.filter(({ hidden }) => !hidden);
  if (options.length > 0) sections.push(optionTable(options));
  return sections;
}

function optionTable(options: readonly Option[]): string {
  return table(
    "option",
    options.map((option) => [`\`${cell(option.flags)}\``, meaningOf(option)]),
  );
}

/** Padded as the formatter pads it. */
function table(subject: string, rows: readonly (readonly [string, string])[]): string {
  const all = [[subject, "meaning"] as const, ...rows];
  const widths = [0, 1].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text, at) => text.padEnd(widths[at]!)).join(" | ")} |`;
  const [head, ...body] = all.map(line);
  return [head, line(widths.map((width) => "-".repeat(width))), ...body].join("\n");
}

function meaningOf({ description, argChoices, defaultValue }: Option): string {
  const choices = argChoices === undefined ? [] : [`one of: ${argChoices.join(", ")}`];
  const fallback =
    defaultValue === undefined || defaultValue === false ? [] : [`default: ${String(defaultValue)}`];
  return cell([description, ...choices, ...fallback].join("; "));
}

export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
