import { resolveHome } from "../../../runtime/settings/home.ts";
import type { CliContext } from "../../context.ts";
import { neutraliseLine, paintFor } from "../../terminal/terminal.ts";
import { shellWord, typedName } from "../../typed-name.ts";

type Greeting = {
  url: string;
  grpcPort: number;
  home: string;
  workerId: string | undefined;
  /** Opens the dashboard once, already logged in; none where others may read the output, such as in a log. */
  loginUrl: string | undefined;
};

/** Prints where everything is and what to try first. */
export function greet(context: CliContext, greeting: Greeting): void {
  const { url, grpcPort, home, workerId, loginUrl } = greeting;
  const paint = paintFor(context.stdout, context.env);
  const ofHome = home === homeByItself(context) ? "" : ` --home ${shellWord(home)}`;
  const typed = (program: "writ" | "jobctl") => `${typedName(program, context)}${ofHome}`;
  const lines = [
    `${paint.bold("Writ")} ${context.version} is running. Ctrl-C stops it.`,
    "",
    `  hub     ${paint.cyan(url)}`,
    `  grpc    ${paint.cyan(`${URL.parse(url)?.hostname}:${grpcPort}`)}`,
    `  worker  ${workerId === undefined ? paint.dim("none on this machine") : neutraliseLine(workerId)}`,
    `  home    ${neutraliseLine(home)}`,
    "",
    ...(loginUrl === undefined
      ? [`\`${typed("writ")} open\` makes a link to the dashboard that logs you in.`, ""]
      : [
          `Open the dashboard within a minute; later \`${typed("writ")} open\` makes another link:`,
          `  ${paint.cyan(loginUrl)}`,
          "",
        ]),
    ...(workerId === undefined ? addWorker(typed) : firstSteps(typed)),
  ];
  context.stdout.write(`${lines.join("\n")}\n`);
}

type Typed = (program: "writ" | "jobctl") => string;

function firstSteps(typed: Typed): string[] {
  const jobctl = typed("jobctl");
  return ["Try in another terminal:", `  ${jobctl} run echo hello`, `  ${jobctl} list`, `  ${jobctl} watch`];
}

/** Without a worker, every job waits. */
function addWorker(typed: Typed): string[] {
  return [
    "Jobs wait until there is a worker. Add one in another terminal:",
    `  ${typed("writ")} workers add NAME --out NAME.yaml`,
    "  writ worker --config NAME.yaml    on the worker's machine, with a copy of that file",
  ];
}

/** The home that a command finds without --home, in a terminal where WRIT_HOME may not be set. */
function homeByItself({ checkout, userHome }: CliContext): string {
  return resolveHome({ env: {}, checkoutDir: checkout, userHome });
}
