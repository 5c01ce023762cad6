import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { AgentCall } from "../../../core/agents/agent-use.ts";
import { AgentLog } from "./agent-log.ts";
import { noteLine } from "./follow-stream.ts";
import type { StreamProtocol } from "./protocol.ts";
import { AgentLines } from "./read-lines.ts";

type Heard = { log: AgentLog; calls: AgentCall[]; told: AgentCall[] };

function hear(protocol: StreamProtocol, lines: readonly string[], root = "/repo", mask = same): Heard {
  const told: AgentCall[] = [];
  const latest = new Map<number, AgentCall>();
  const onCall = (call: AgentCall): void => {
    told.push(call);
    latest.set(call.call, call);
  };
  const log = new AgentLog({ root, mask, onCall });
  for (const line of lines) noteLine(protocol, log, line);
  return { log, calls: [...latest.values()], told };
}

const same = (text: string): string => text;
const line = (value: unknown): string => JSON.stringify(value);

/** Printed by the programs at the versions in test/agents/versions.json, in the trial of `writ doctor --agent`. */
function recorded(name: string): { lines: string[]; root: string } {
  const path = new URL(`../../../../test/agents/recorded/${name}.jsonl`, import.meta.url);
  const text = readFileSync(path, "utf8");
  return { lines: text.split("\n"), root: /\/var\/tmp\/writ-agent-\w+\/repo/.exec(text)![0] };
}

const words = ({ tool, title, path = "", status }: AgentCall): string => `${tool}|${title}|${path}|${status}`;
const greeting = "src/greeting.txt";

test.each<[string, StreamProtocol, string[], object]>([
  [
    "claude-code",
    "claude-stream",
    [
      `Read|${greeting}|${greeting}|completed`,
      `Edit|${greeting}|${greeting}|completed`,
      "Bash|sh check.sh||completed",
      "Bash|echo no > 'REPO/not-allowed.txt'||refused",
      "message|Done.||completed",
    ],
    { tokens_in: 500, tokens_out: 100, cost_micro_usd: 3000, model: "claude-sonnet-4-5" },
  ],
  [
    "codex",
    "codex-json",
    [
      `command|/usr/bin/bash -lc "cat 'REPO/${greeting}'"||completed`,
      `command|/usr/bin/bash -lc "sed -i 's/Helo/Hello/' 'REPO/${greeting}'"||completed`,
      "command|/usr/bin/bash -lc 'sh check.sh'||completed",
      `command|/usr/bin/bash -lc "echo no > 'REPO/not-allowed.txt'"||refused`,
      "message|Done.||completed",
    ],
    { tokens_in: 500, tokens_out: 100 },
  ],
  [
    "gemini",
    "gemini-stream",
    [
      `read_file|${greeting}|${greeting}|completed`,
      `replace|${greeting}|${greeting}|completed`,
      "run_shell_command|sh check.sh||completed",
      "run_shell_command|echo no > 'REPO/not-allowed.txt'||refused",
      "message|Done.||completed",
    ],
    { tokens_in: 500, tokens_out: 100, model: "gemini-2.5-pro" },
  ],
  [
    "opencode",
    "opencode",
    [
      `read|${greeting}|${greeting}|completed`,
      `edit|${greeting}|${greeting}|completed`,
      "bash|sh check.sh||completed",
      "bash|echo no > 'REPO/not-allowed.txt'||refused",
      "message|Done.||completed",
    ],
    { tokens_in: 500, tokens_out: 100, cost_micro_usd: 3000 },
  ],
])(
  "what %s printed in a real run is read as its calls, its tokens and its last word",
  (name, protocol, calls, use) => {
    const { lines, root } = recorded(name);
    const heard = hear(protocol, lines, root);
    expect(heard.calls.map(words)).toEqual(calls.map((call) => call.replace("REPO", root)));
    expect(heard.log.use).toEqual({ tool_calls: 4, denied: 1, session_id: expect.any(String), ...use });
    expect(heard.log.answer).toBe("Done.");
  },
);

test("a line that is no JSON, or of an unknown form, changes nothing", () => {
  const strange = [
    "",
    "{",
    "Warning: {}",
    "[1]",
    "null",
    line({ type: "assistant", message: 7 }),
    line({ type: 3 }),
  ];
  const parts = [line({ type: "tool_use" }), line({ type: "user", message: { content: [null, "x", {}] } })];
  const items = [line({ type: "item.completed", item: { type: "file_change", changes: "none" } })];
  for (const protocol of ["claude-stream", "codex-json", "gemini-stream", "opencode"] as const) {
    const { log, told } = hear(protocol, [...strange, ...parts, ...items]);
    expect([told, log.use]).toEqual([[], { tool_calls: 0, denied: 0, tokens_in: 0, tokens_out: 0 }]);
  }
});

test("numbers that are none, are negative or have no end count as nothing", () => {
  const usage = { input_tokens: -5, output_tokens: "7", cache_read_input_tokens: Number.MAX_VALUE * 2 };
  const { log } = hear("claude-stream", [line({ type: "result", usage, total_cost_usd: -1 })]);
  expect(log.use).toEqual({ tool_calls: 0, denied: 0, tokens_in: 0, tokens_out: 0 });
});

test("the tokens of one message count once, in however many lines it comes", () => {
  const part = (id: string, input_tokens: number) =>
    line({ type: "assistant", message: { id, content: [], usage: { input_tokens, output_tokens: 1 } } });
  const { log } = hear("claude-stream", [part("a", 10), part("a", 12), part("b", 5)]);
  expect(log.use).toMatchObject({ tokens_in: 17, tokens_out: 2 });
});

test("a call that the agent itself refused is counted and named, once", () => {
  const lines = [
    line({ type: "assistant", message: { content: [use("t1", "Bash", { command: "rm -rf x" })] } }),
    line({
      type: "user",
      message: { content: [{ type: "tool_result", tool_use_id: "t1", is_error: true, content: "no" }] },
    }),
    line({ type: "result", permission_denials: [{ tool_use_id: "t1" }] }),
    line({ type: "result", permission_denials: [{ tool_use_id: "t1" }] }),
  ];
  const { calls, log } = hear("claude-stream", lines);
  expect(calls).toEqual([{ call: 1, tool: "Bash", title: "rm -rf x", status: "refused" }]);
  expect(log.use.denied).toBe(1);
});

test("a file that mentions a refusal in its text is none", () => {
  const answer = (output: string) => [
    line({ type: "tool_use", tool_id: "a", tool_name: "read_file", parameters: { path: "log" } }),
    line({ type: "tool_result", tool_id: "a", status: "success", output }),
  ];
  expect(hear("gemini-stream", answer("Permission denied is what it printed")).log.use.denied).toBe(0);
  expect(hear("gemini-stream", answer("sh: x: Permission denied\n")).log.use.denied).toBe(1);
});

test("pieces of one message are one entry, and a call begins another", () => {
  const piece = (content: string) => line({ type: "message", role: "assistant", content, delta: true });
  const call = line({ type: "tool_use", tool_id: "a", tool_name: "x", parameters: {} });
  const { calls, log } = hear("gemini-stream", [piece("I will "), piece("read."), call, piece("Done.")]);
  expect(calls.map(words)).toEqual([
    "message|I will read.||completed",
    "x|||running",
    "message|Done.||completed",
  ]);
  expect(log.answer).toBe("Done.");
});

test("what is told has bounds, and no secret and no control character is in it", () => {
  const calls = Array.from({ length: 700 }, (_, index) =>
    line({
      type: "assistant",
      message: {
        content: [use(`t${index}`, "Bash", { command: `echo \u001b[2J key-4711 ${"x".repeat(5000)}` })],
      },
    }),
  );
  const mask = (text: string): string => text.replaceAll("key-4711", "*");
  const heard = hear("claude-stream", calls, "/repo", mask);
  expect(heard.told).toHaveLength(500);
  expect(heard.log.use.tool_calls).toBe(700);
  expect(heard.told[0]!.title).toMatch(/^echo \[2J \* x+…$/);
  expect(heard.told[0]!.title).toHaveLength(300);
});

test("a path outside the repository stays whole", () => {
  const read = (path: string) =>
    line({ type: "assistant", message: { content: [use(path, "Read", { file_path: path })] } });
  const { calls } = hear("claude-stream", [read("/repo/src/a"), read("/etc/passwd"), read("/repository/b")]);
  expect(calls.map(({ path }) => path)).toEqual(["src/a", "/etc/passwd", "/repository/b"]);
});

test("lines are the same wherever the bytes are cut, and one that is too long is left out", () => {
  const text = `{"a":"ä"}\n${"x".repeat(5 * 1024 * 1024)}\n{"b":1}\nrest`;
  const bytes = Buffer.from(text);
  for (const at of [7, 8, 1_000_000, bytes.length - 2]) {
    const lines = new AgentLines();
    const found = [...lines.push(bytes.subarray(0, at)), ...lines.push(bytes.subarray(at))];
    expect([...found, lines.rest]).toEqual(['{"a":"ä"}', '{"b":1}', "rest"]);
  }
});

function use(id: string, name: string, input: object): object {
  return { type: "tool_use", id, name, input };
}
