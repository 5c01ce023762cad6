import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCli } from "../support/run-cli.ts";

const root = join(import.meta.dirname, "../..");
let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "writ-skills-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const install = (...args: string[]) =>
  runCli("writ", ["skills", "install", ...args], { env: { HOME: home }, cwd: home });
const inHome = (path: string) => join(home, path);
const read = (path: string) => readFileSync(inHome(path), "utf8");
function put(path: string, text: string): void {
  mkdirSync(dirname(inHome(path)), { recursive: true });
  writeFileSync(inHome(path), text);
}

test.each([
  [["--agent", "clippy"], '--agent: "clippy" is not one of claude-code, codex, gemini, opencode'],
  [["--agent", "codex", "--allow", "approve"], '--allow: "approve" is not read, nor run, delegate, cancel'],
  [["--agent", "codex", "--token", "sk_user_x"], "--token: no token is written into settings"],
  [["--agent", "codex"], "give --yes to do it without asking"],
  [[], "no coding agent has run here as this user; name one"],
])("%j is refused, and nothing is written", async (args, why) => {
  const { code, stderr } = await install(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(why);
  expect(existsSync(inHome(".codex"))).toBe(false);
});

test("settings with comments are left as they are", async () => {
  put(".config/opencode/opencode.json", '{\n  // mine\n  "theme": "x"\n}\n');
  const { code, stderr } = await install("--agent", "opencode", "--yes");
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("it is not plain JSON") });
  expect(read(".config/opencode/opencode.json")).toContain("// mine");
  expect(existsSync(inHome(".config/opencode/skills"))).toBe(false);
});

test("--dry-run shows the changes and makes none", async () => {
  const { code, stdout } = await install("--agent", "codex", "--dry-run");
  expect(code).toBe(0);
  expect(stdout).toContain(`+++ ${inHome(".codex/config.toml")}\n@@ line 1 @@\n+[mcp_servers.writ]`);
  expect(existsSync(inHome(".codex"))).toBe(false);
});

test("every agent that has run here gets the server and the skill, beside what it has", async () => {
  put(".claude.json", '{"userID":"u","mcpServers":{"other":{"command":"x"}}}');
  put(".codex/config.toml", 'model = "m"\n');
  put(".gemini/settings.json", '{\n  "theme": "dark"\n}\n');
  put("dotfiles/opencode.json", '{ "theme": "x" }\n');
  mkdirSync(inHome(".config/opencode"), { recursive: true });
  symlinkSync(inHome("dotfiles/opencode.json"), inHome(".config/opencode/opencode.json"));
  const { code, stdout } = await install("--yes", "--home", inHome("writ-home"));
  expect(code).toBe(0);
  const args = ["mcp", "--home", inHome("writ-home"), "--allow", "run,cancel"];
  const command = join(root, "bin/writ");
  expect(JSON.parse(read(".claude.json"))).toEqual({
    userID: "u",
    mcpServers: { other: { command: "x" }, writ: { command, args } },
  });
  expect(read(".codex/config.toml")).toBe(
    `model = "m"\n\n[mcp_servers.writ]\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\ntool_timeout_sec = 90\n`,
  );
  expect(JSON.parse(read(".gemini/settings.json"))).toMatchObject({
    theme: "dark",
    mcpServers: { writ: { command, args } },
  });
  // The link stays, and the file behind it is changed.
  expect(JSON.parse(read("dotfiles/opencode.json"))).toEqual({
    theme: "x",
    mcp: { writ: { type: "local", command: [command, ...args], enabled: true } },
  });
  for (const folder of [".claude", ".codex", ".gemini", ".config/opencode"])
    expect(read(`${folder}/skills/writ/SKILL.md`)).toMatch(/^---\nname: writ\ndescription: .+\n---\n/);
  expect(read(".codex/config.toml.before-writ")).toBe('model = "m"\n');
  expect(statSync(inHome(".claude.json")).mode & 0o777).toBe(0o600);
  expect(stdout).not.toMatch(/sk_(admin|user)_/);

  const again = await install("--yes", "--home", inHome("writ-home"));
  expect(again.stdout).toBe("nothing to change: claude-code, codex, gemini, opencode already know Writ\n");
  const reading = await install("--yes", "--agent", "codex", "--allow", "read");
  expect(reading.code).toBe(0);
  expect(read(".codex/config.toml")).toContain('args = ["mcp"]');
  expect(read(".codex/config.toml.before-writ-2")).toContain("--allow");
});
