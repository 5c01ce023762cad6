import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Command } from "commander";
import { writePrivateFile } from "../../../runtime/files/private-file.ts";
import { withWrit } from "../../connection/connection.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { print, wantsJson } from "../../terminal/print.ts";
import { loginLink } from "./login-link.ts";

export function define(command: Command, context: CliContext): void {
  command.option("--print", "only print the link").action(({ print: isPrinted }: { print?: boolean }) =>
    withWrit(context, command, async (writ) => {
      const link = await loginLink(writ);
      const isOpened = isPrinted !== true && !wantsJson(command) && hasDesktop(context);
      if (isOpened) openBrowser(await writePage(findHome(context, command), link.url));
      // Only the link goes to stdout, so that another command can use it.
      const say = wantsJson(command) ? () => {} : (line: string) => context.stderr.write(`${line}\n`);
      if (isOpened) say("Opening the dashboard. If no browser appears, open this link:");
      print(context, command, link, ({ url }) => `${url}\n`);
      say(`It works once, within ${link.expires_in_sec} seconds.`);
    }),
  );
}

function hasDesktop({ stdout, env }: CliContext): boolean {
  if (stdout.isTTY !== true) return false;
  return [env["DISPLAY"], env["WAYLAND_DISPLAY"]].some((display) => display !== undefined && display !== "");
}

/** Others on this machine can read the words of a command line, so the browser is given a private file and not the link. */
async function writePage(home: string, url: string): Promise<string> {
  const path = join(home, "open.html");
  const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${url}"><title>Writ</title>`;
  await writePrivateFile(path, page);
  return path;
}

function openBrowser(path: string): void {
  const browser = spawn("xdg-open", [path], { stdio: "ignore", detached: true });
  // Without it, the printed link is there.
  browser.on("error", () => {});
  browser.unref();
}
