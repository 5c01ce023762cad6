import { Argument, type Command } from "commander";
import type { CliContext } from "../context.ts";
import { loadProgram } from "../program.ts";
import { jobctlShape } from "./program.ts";

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export function define(command: Command, context: CliContext): void {
  command
    .addArgument(new Argument("<shell>", "the shell to complete in").choices(Object.keys(shells)))
    .addHelpText("after", '\nFor example, in ~/.bashrc: eval "$(jobctl completion bash)"')
    .action(async (shell: keyof typeof shells) => {
      const program = await loadProgram(context, jobctlShape);
      const global = flagsOf(program);
      const commands = program.commands.map((each) => ({
        name: each.name(),
        summary: each.summary(),
        flags: [...flagsOf(each), ...global],
      }));
      context.stdout.write(shells[shell](commands));
    });
}

type Completion = { name: string; summary: string; flags: string[] };

function flagsOf(command: Command): string[] {
  const names = command.options.filter(({ hidden }) => !hidden).flatMap(({ short, long }) => [short, long]);
  return names.filter((name) => name?.startsWith("--") === true).map(String);
}

function bashScript(commands: Completion[]): string {
  const cases = commands.map(({ name, flags }) => `    ${name}) words="${flags.join(" ")}" ;;\n`).join("");
  return `_jobctl() {
  local words word command=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) command=$word; break ;; esac
  done
  case "$command" in
${cases}    *) words="${commands.map(({ name }) => name).join(" ")}" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _jobctl jobctl
`;
}

function zshScript(commands: Completion[]): string {
  const names = commands.map(({ name, summary }) => `    '${name}:${summary}'\n`).join("");
  const cases = commands
    .map(({ name, flags }) => `    ${name}) compadd -- ${flags.join(" ")}; _files ;;\n`)
    .join("");
  return `#compdef jobctl
_jobctl() {
  local -a commands=(
${names}  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2]" in
${cases}  esac
}
compdef _jobctl jobctl
`;
}

function fishScript(commands: Completion[]): string {
  const lines = commands.flatMap(({ name, summary, flags }) => [
    `complete -c jobctl -n __fish_use_subcommand -f -a ${name} -d '${summary}'`,
    ...flags.map((flag) => `complete -c jobctl -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
  ]);
  return `${lines.join("\n")}\n`;
}
