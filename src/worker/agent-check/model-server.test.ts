import { afterAll, beforeAll, expect, test } from "vitest";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { trialModel } from "./trial.ts";

let server: ModelServer;
const { answer, seen } = trialModel({ repo: "/srv/repo", secretWord: "sesame" });
beforeAll(async () => {
  server = await startModelServer(answer);
});
afterAll(() => server.close());

const schema = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const told = "Mend it. The word is sesame.";
/** The same conversation in every dialect: the task, and a shell. */
const dialects = [
  {
    name: "Anthropic's Messages",
    path: () => "/v1/messages",
    body: { messages: [{ role: "user", content: told }], tools: [{ name: "Bash", input_schema: schema }] },
    later: {
      role: "user",
      content: [
        { type: "tool_use", name: "Bash", input: {} },
        { type: "tool_result", content: "tests passed: 42" },
      ],
    },
    list: "messages",
  },
  {
    name: "OpenAI's Responses",
    path: () => "/v1/responses",
    body: {
      input: [{ role: "user", content: told }],
      tools: [{ type: "function", name: "shell", parameters: schema }],
    },
    later: { type: "function_call_output", output: "tests passed: 42" },
    list: "input",
  },
  {
    name: "OpenAI's chat",
    path: () => "/v1/chat/completions",
    body: {
      messages: [{ role: "user", content: told }],
      tools: [{ type: "function", function: { name: "bash", parameters: schema } }],
    },
    later: { role: "tool", content: "tests passed: 42" },
    list: "messages",
  },
  {
    name: "Gemini's content",
    path: (stream: boolean) =>
      `/v1beta/models/m:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: {
      contents: [{ role: "user", parts: [{ text: told }] }],
      tools: [{ functionDeclarations: [{ name: "run_shell_command", parametersJsonSchema: schema }] }],
    },
    later: { role: "user", parts: [{ functionResponse: { response: { output: "tests passed: 42" } } }] },
    list: "contents",
  },
] as const;

for (const { name, path, body, later, list } of dialects)
  for (const stream of [true, false])
    test(`a model on loopback speaks ${name}, ${stream ? "in pieces" : "whole"}`, async () => {
      Object.assign(seen, { task: false, tests: false });
      const ask = async (asked: object) => {
        const text = JSON.stringify({ model: "m", stream, ...asked });
        const response = await fetch(`${server.url}${path(stream)}`, { method: "POST", body: text });
        expect(response.headers.get("content-type")).toBe(stream ? "text/event-stream" : "application/json");
        return response.text();
      };
      // The model makes an agent without other tools read with its shell.
      expect((await ask(body)).replaceAll("\\", "")).toContain(`"cat '/srv/repo/src/greeting.txt'"`);
      expect(seen).toMatchObject({ task: true, tests: false });
      const before = body[list as keyof typeof body] as readonly object[];
      await ask({ ...body, [list]: [...before, later] });
      expect(seen).toMatchObject({ tests: true });
      // A request without tools is not part of the task, for example one for a title.
      expect(await ask({ ...body, tools: [] })).toContain("A greeting");
    });

test("an unknown path is not found, and a count of tokens is a number", async () => {
  expect((await fetch(`${server.url}/v1/messages/count_tokens`, { method: "POST", body: "{}" })).status).toBe(
    200,
  );
  expect((await fetch(`${server.url}/elsewhere`)).status).toBe(404);
});
