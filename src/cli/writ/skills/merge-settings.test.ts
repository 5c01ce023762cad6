import { expect, test } from "vitest";
import { mergeJson, mergeToml } from "./merge-settings.ts";

const keys = ["mcpServers", "writ"];
const value = { command: "writ", args: ["mcp"] };

test.each([
  ['{ "a": 1, // a comment\n}', "it is not plain JSON"],
  ["[]", "it is not an object"],
  ['{"mcpServers": []}', "mcpServers is not an object"],
])("a file that cannot be kept as it is, is left: %s", (text, why) => {
  expect(() => mergeJson("/s.json", text, { keys, value })).toThrow(`/s.json: ${why}`);
});

test("other settings keep their order and their indentation", () => {
  const text = '{\n    "z": [1],\n    "mcpServers": {\n        "other": {}\n    },\n    "a": true\n}\n';
  const merged = mergeJson("/s.json", text, { keys, value });
  expect(JSON.parse(merged)).toEqual({ z: [1], mcpServers: { other: {}, writ: value }, a: true });
  expect(merged.startsWith('{\n    "z": [\n        1')).toBe(true);
  expect(mergeJson("/s.json", merged, { keys, value })).toBe(merged);
});

test("a new file, an empty one, and one that says the same in another form", () => {
  const fresh = mergeJson("/s.json", null, { keys, value });
  expect(JSON.parse(fresh)).toEqual({ mcpServers: { writ: value } });
  expect(mergeJson("/s.json", "\n", { keys, value })).toBe(fresh);
  const short = JSON.stringify({ mcpServers: { writ: value } });
  expect(mergeJson("/s.json", short, { keys, value })).toBe(short);
});

const table = "mcp_servers.writ";
const lines = ['command = "writ"'];

test("a table of TOML is added at the end, and one that is there is replaced with its own tables", () => {
  expect(mergeToml(null, { table, lines })).toBe('[mcp_servers.writ]\ncommand = "writ"\n');
  const text = '# mine\nmodel = "m"\n[mcp_servers.other]\ncommand = "x"';
  const added = mergeToml(text, { table, lines });
  expect(added).toBe(`${text}\n\n[mcp_servers.writ]\ncommand = "writ"\n`);
  expect(mergeToml(added, { table, lines })).toBe(added);
  const old =
    '[a]\nb = 1\n\n[mcp_servers.writ] # old\ncommand = "old"\n[mcp_servers.writ.env]\nX = "1"\n\n[[c]]\nd = 2\n';
  expect(mergeToml(old, { table, lines })).toBe(
    '[a]\nb = 1\n\n[mcp_servers.writ]\ncommand = "writ"\n\n[[c]]\nd = 2\n',
  );
});
