import { resolveHome } from "../../runtime/home.ts";
import type { CliContext } from "../context.ts";
import { neutraliseLine, paintFor } from "../terminal.ts";
import { shellWord, typedName } from "../typed-name.ts";

type Greeting = {
  url: string;
  grpcPort: number;
  home: string;
  workerId: string | undefined;
  /** Opens the dashboard once, already logged in; none where others may read the output. */
  loginUrl: string | undefined;
};

/** Prints where everything is and what to try first. */
export function greet(context: CliContext, greeting: Greeting): void {
  const { url, grpcPort, home, workerId, loginUrl } = greeting;
  const paint = paintFor(context.stdout, context.env);
  const ofHome = home === homeByItself(context) ? "" : ` --home ${shellWord(home)}`;
  const jobctl = `${typedName("jobctl", context)}${ofHome}`;
  const lines = [
    `${paint.bold("Writ")} ${context.version} is running. Ctrl-C stops it.`,
    "",
    `  hub     ${paint.cyan(url)}`,
    `  grpc    ${paint.cyan(`${URL.parse(url)?.hostname}:${grpcPort}`)}`,
    `  worker  ${workerId === undefined ? paint.dim("none; add one with `writ workers add NAME`") : neutraliseLine(workerId)}`,
    `  home    ${neutraliseLine(home)}`,
    "",
    ...(loginUrl === undefined
      ? []
      : [
          `Open the dashboard within a minute; later \`${typedName("writ", context)}${ofHome} open\` makes another link:`,
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

/** The home that a command finds without --home, in a terminal where WRIT_HOME may not be set. */
function homeByItself({ checkout, userHome }: CliContext): string {
  return resolveHome({ env: {}, checkoutDir: checkout, userHome });
}
