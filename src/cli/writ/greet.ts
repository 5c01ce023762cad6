import { join, relative } from "node:path";
import type { CliContext } from "../context.ts";
import { neutraliseLine, paintFor } from "../terminal.ts";

type Greeting = {
  url: string;
  grpcPort: number;
  home: string;
  homeFlag: string | undefined;
  workerId: string | undefined;
  /** Opens the dashboard once, already logged in; none where others may read the output. */
  loginUrl: string | undefined;
};

/** Prints where everything is and what to try first. */
export function greet(context: CliContext, greeting: Greeting): void {
  const { url, grpcPort, home, homeFlag, workerId, loginUrl } = greeting;
  const paint = paintFor(context.stdout, context.env);
  const jobctl = `${nameJobctl(context)}${homeFlag === undefined ? "" : ` --home ${quote(home)}`}`;
  const lines = [
    `${paint.bold("Writ")} ${context.version} is running. Ctrl-C stops it.`,
    "",
    `  hub     ${paint.cyan(url)}`,
    `  grpc    ${paint.cyan(`${URL.parse(url)?.hostname}:${grpcPort}`)}`,
    `  worker  ${workerId === undefined ? paint.dim("none; `writ workers add NAME` enrols one") : neutraliseLine(workerId)}`,
    `  home    ${neutraliseLine(home)}`,
    "",
    ...(loginUrl === undefined
      ? []
      : [
          "Open the dashboard within a minute; later `writ open` makes another link:",
          `  ${paint.cyan(loginUrl)}`,
          "",
        ]),
    "Try in another terminal:",
    `  ${jobctl} run echo hello`,
    `  ${jobctl} list`,
    `  ${jobctl} watch`,
  ];
  context.stdout.write(`${lines.join("\n")}\n`);
}

/** A checkout has its programs in bin/; an installed package has them on the PATH. */
function nameJobctl({ checkout, cwd }: CliContext): string {
  if (checkout === undefined) return "jobctl";
  const near = relative(cwd, join(checkout, "bin", "jobctl"));
  return quote(near.startsWith("..") ? join(checkout, "bin", "jobctl") : near);
}

function quote(word: string): string {
  return /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
