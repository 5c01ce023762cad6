import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { builtFiles } from "../../../runtime/built-files.ts";
import type { Endpoint } from "../app.ts";
import { noSuchPath } from "../refuse.ts";
import type { Reply } from "../reply.ts";
import type { Router } from "../router.ts";

const headers = {
  "Content-Type": "text/markdown; charset=utf-8",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
};

type Page = { title: string; about: string; text: string };

/**
 * The pages of this version as Markdown, and a list of them for models. Only files that were found below the folder are
 * served: a path is looked up among their names and never opened.
 */
export function addDocs(router: Router<Endpoint>, folder: string = builtFiles.docs): void {
  let found: Map<string, Page> | undefined;
  const pages = () => {
    found ??= readPages(folder);
    return found;
  };
  router.add("GET", "/llms.txt", () => {
    const text = listOf(pages());
    return { status: 200, headers: { ...headers, "Content-Type": "text/plain; charset=utf-8" }, body: text };
  });
  router.add("GET", "/docs/:page*", (_, { page = "" }): Reply => {
    const text = pages().get(page)?.text;
    if (text === undefined) throw noSuchPath();
    return { status: 200, headers, body: text };
  });
}

/** All pages, read once when somebody first asks: a megabyte. */
function readPages(folder: string): Map<string, Page> {
  const pages = new Map<string, Page>();
  if (!existsSync(folder)) return pages;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".md")) continue;
    const path = join(entry.parentPath, entry.name);
    const text = readFileSync(path, "utf8");
    pages.set(relative(folder, path).split("\\").join("/"), { ...describe(text), text });
  }
  return pages;
}

/** A page begins with its title, and what it is about. */
function describe(text: string): Omit<Page, "text"> {
  const [, title = "", first = ""] = /^# (.+)\n+((?:.+\n)*)/.exec(text) ?? [];
  const plain = first
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll("\n", " ")
    .trim();
  return { title, about: /^[A-Z].*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".") ?? "" };
}

const summary = `# Writ

> Writ runs commands and coding agents as jobs on your machines, in cages, keeps what they write, and can prove what they did.

Use it from a shell with jobctl (\`jobctl run CMD\`, \`jobctl why ID\`, \`jobctl stream ID\`), or by MCP (docs/mcp.md).
`;

/** Pages that somebody who has never seen Writ reads first. */
const firstPages = ["agents.md", "mcp.md", "getting-started.md", "commands.md", "api.md"];

function listOf(pages: Map<string, Page>): string {
  const others = [...pages.keys()].filter((path) => !path.includes("/") && !firstPages.includes(path)).sort();
  const section = (title: string, paths: string[]) =>
    `\n## ${title}\n\n${paths.map((path) => lineOf(path, pages.get(path))).join("")}`;
  return `${summary}${section(
    "Docs",
    firstPages.filter((path) => pages.has(path)),
  )}${section("Optional", others)}`;
}

function lineOf(path: string, page: Page | undefined): string {
  const about = page === undefined || page.about === "" ? "" : `: ${page.about}`;
  return `- [${page?.title || path}](/docs/${path})${about}\n`;
}
