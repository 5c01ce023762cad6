import { Argument, type Command } from "commander";
import type { CliContext } from "../context.ts";
import { completeWord } from "../program.ts";

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `completion` of either program: a short script that asks the program itself at every Tab. */
export function defineCompletion(command: Command, context: CliContext): void {
  const { program } = context;
  command
    .addArgument(new Argument("<shell>", "the shell to complete in").choices(Object.keys(shells)))
    .addHelpText("after", `\nFor example, in ~/.bashrc: eval "$(${program} completion bash)"`)
    .action((shell: keyof typeof shells) => {
      context.stdout.write(shells[shell](program));
    });
}

/** The word that was typed names the program, so that bin/jobctl completes for its own checkout. */
function bashScript(name: string): string {
  return `_${name}() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" ${completeWord} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _${name} ${name}
`;
}

function zshScript(name: string): string {
  return `#compdef ${name}
_${name}() {
  local -a found=("\${(@f)$("\${words[1]}" ${completeWord} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _${name} ${name}
`;
}

function fishScript(name: string): string {
  return `function __${name}_complete
  set -l words (commandline -opc)
  $words[1] ${completeWord} $words[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c ${name} -a '(__${name}_complete)'
`;
}
