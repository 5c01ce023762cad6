import { expect, test } from "vitest";
import { chooseTool } from "./choose-tool.ts";
import { toolOf } from "./dialects/dialect.ts";

const text = { type: "string" };
const edit = { act: "edit", path: "/r/a", from: "x", to: "y" } as const;

test("a tool is called with its own parameter names and with fillers for other required parameters", () => {
  const tool = toolOf("Edit", {
    properties: { file_path: text, old_string: text, new_string: text, why: text, all: { type: "boolean" } },
    required: ["file_path", "why"],
  });
  expect(chooseTool([tool], edit)).toEqual({
    name: "Edit",
    args: { file_path: "/r/a", old_string: "x", new_string: "y", why: "As the task asks." },
  });
});

test("an agent with only a shell does everything in it, and an agent without tools does nothing", () => {
  const shell = toolOf("shell", { properties: { command: { type: "array" } }, required: ["command"] });
  expect(chooseTool([shell], edit)?.args).toEqual({ command: ["sh", "-c", "sed -i 's/x/y/' '/r/a'"] });
  expect(chooseTool([toolOf("search", {})], edit)).toBeUndefined();
});
