import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hubAccount, type ServiceRole, serviceNames, unitFile } from "../../src/cli/service/unit.ts";
import { readBlock, readTable, readText, root } from "./page.ts";

/** The files in deploy/ are what the programs themselves would write or read: `npm test -- test/docs/deploy -u` writes them. */
const homes: Record<ServiceRole, string> = {
  up: "/var/lib/writ",
  hub: "/var/lib/writ",
  worker: "/var/lib/writ-worker",
};

test.each(Object.entries(serviceNames))(
  "the unit for %s is what `writ install` writes for a package in /opt/writ",
  async (role, name) => {
    const plan = { role: role as ServiceRole, home: homes[role as ServiceRole], isOfUser: false };
    const program = ["/usr/bin/node", "/opt/writ/node_modules/writ/bin/writ.js"];
    await expect(unitFile({ ...plan, program })).toMatchFileSnapshot(join(root, "deploy/systemd", name));
  },
);

test("the account of the hub is the one that `writ install hub` makes", async () => {
  await expect(hubAccount).toMatchFileSnapshot(join(root, "deploy/systemd/writ.sysusers.conf"));
});

test.each([
  ["hub settings", "hub.env.example", "A hub", 3],
  ["worker settings", "worker.env.example", "A worker", 3],
] as const)(
  "%s: the example of the environment names every variable, with its meaning and default",
  async (block, file, who, meaning) => {
    const rows = readTable(readBlock("docs/operations.md", block));
    expect(rows.length).toBeGreaterThan(10);
    const parts = rows.map((cells) => {
      const name = plain(cells[0]!);
      const value = plain(cells[2]!);
      return `# ${plain(cells[meaning]!)}\n# Default: ${value}\n#${name}=\n`;
    });
    const head = `# ${who} reads these from its environment; docs/operations.md says more. Remove the # of what you set.\n# Keep this file readable by root alone if it holds a secret.\n`;
    await expect([head, ...parts].join("\n")).toMatchFileSnapshot(join(root, "deploy", file));
  },
);

test("the page names every file in deploy/", () => {
  const page = readText("docs/deploy.md");
  for (const [, file] of page.matchAll(/\]\(\.\.\/(deploy\/[^)]+)\)/g))
    expect(existsSync(join(root, file!)), file).toBe(true);
  for (const name of [...Object.values(serviceNames), "hub.env.example", "worker.env.example"])
    expect(page).toContain(name);
});

function plain(cell: string): string {
  return cell
    .replaceAll("`", "")
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .trim();
}
