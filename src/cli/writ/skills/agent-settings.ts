import { join } from "node:path";
import { mergeJson, mergeToml } from "./merge-settings.ts";

type Place = { userHome: string; env: Readonly<Record<string, string | undefined>> };

/** The words that start our server. */
type Server = readonly [program: string, ...args: string[]];

type SettingsFile = {
  path: string;
  /** Its text with our server. */
  merge(text: string | null, server: Server): string;
};

type AgentSettings = {
  name: string;
  /** Its folder is there once it has run. */
  folder: string;
  settings: SettingsFile;
  skill: string;
};

export const agentNames = ["claude-code", "codex", "gemini", "opencode"] as const;
export type AgentName = (typeof agentNames)[number];

/** Where a coding agent has its settings and skills for all projects of a user. */
export function settingsOf(name: AgentName, { userHome, env }: Place): AgentSettings {
  const skillIn = (folder: string) => join(folder, "skills/writ/SKILL.md");
  const described = (folder: string, settings: SettingsFile) => ({
    name,
    folder,
    settings,
    skill: skillIn(folder),
  });
  switch (name) {
    case "claude-code": {
      const configured = env["CLAUDE_CONFIG_DIR"];
      const folder = configured || join(userHome, ".claude");
      const path = configured ? join(configured, ".claude.json") : join(userHome, ".claude.json");
      return described(folder, jsonFile(path, ["mcpServers", "writ"], commandAndArgs));
    }
    case "codex": {
      const folder = env["CODEX_HOME"] || join(userHome, ".codex");
      return described(folder, tomlFile(join(folder, "config.toml")));
    }
    case "gemini": {
      const folder = join(userHome, ".gemini");
      return described(
        folder,
        jsonFile(join(folder, "settings.json"), ["mcpServers", "writ"], commandAndArgs),
      );
    }
    case "opencode": {
      const folder = join(env["XDG_CONFIG_HOME"] || join(userHome, ".config"), "opencode");
      const entry = (server: Server) => ({ type: "local", command: server, enabled: true });
      return described(folder, jsonFile(join(folder, "opencode.json"), ["mcp", "writ"], entry));
    }
  }
}

function commandAndArgs([command, ...args]: Server): object {
  return { command, args };
}

function jsonFile(path: string, keys: readonly string[], entry: (server: Server) => object): SettingsFile {
  return { path, merge: (text, server) => mergeJson(path, text, { keys, value: entry(server) }) };
}

/** Waiting for a job takes up to 45 s, which is close to what Codex waits by default. */
const codexTimeoutSec = 90;

function tomlFile(path: string): SettingsFile {
  return {
    path,
    merge: (text, [command, ...args]) =>
      mergeToml(text, {
        table: "mcp_servers.writ",
        lines: [
          // A string of JSON is one of TOML.
          `command = ${JSON.stringify(command)}`,
          `args = ${JSON.stringify(args)}`,
          `tool_timeout_sec = ${codexTimeoutSec}`,
        ],
      }),
  };
}
