import { type Command, Option } from "commander";

const shared = new WeakSet<Option>();

/**
 * Lets a command take the program's own options too: `jobctl list --json` is `jobctl --json list`. A command that has
 * an option of the same name keeps it: in `jobctl --user ann audit --user bob`, ann asks about bob.
 */
export function shareOptions(program: Command, command: Command): void {
  command.enablePositionalOptions();
  for (const { long, flags, description } of program.options) {
    if (long === "--version" || command.options.some((own) => own.long === long)) continue;
    // The help of the command lists them once, among the program's.
    const option = new Option(flags, description).hideHelp();
    shared.add(option);
    command.addOption(option);
  }
  for (const nested of command.commands) shareOptions(program, nested);
}

/** The values of the program's own options, wherever they were given; the one nearest to the command counts. */
export function programFlags<T extends object>(command: Command): Partial<T> {
  const flags = command.parent === null ? {} : programFlags<T>(command.parent);
  const own = command.options.filter((option) => command.parent === null || shared.has(option));
  const values = own.map((option) => [
    option.attributeName(),
    command.getOptionValue(option.attributeName()),
  ]);
  return { ...flags, ...Object.fromEntries(values.filter(([, value]) => value !== undefined)) };
}
