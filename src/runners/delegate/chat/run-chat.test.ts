import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { openLogger, silentLogger } from "../../../runtime/log/logger.ts";
import { AttemptSecrets } from "../../attempt-secrets.ts";
import type { RunContext, RunOutcome } from "../../runner.ts";
import type { Capability } from "../delegate-settings.ts";
import { ollamaEnd, ollamaLine, openAiEnd, openAiEvent, startChatServer } from "./chat-server.testing.ts";
import { runChat } from "./run-chat.ts";

const deps = { clock: systemClock, logger: silentLogger };
const longMs = 60_000;

function ollama(endpoint: string, more: Partial<Capability> = {}): Capability {
  return { provider: "OLLAMA", model: "qwen3", endpoint, timeoutMs: longMs, ...more };
}

function openRouter(endpoint: string, more: Partial<Capability> = {}): Capability {
  return { provider: "OPENROUTER", model: "vendor/model", endpoint, timeoutMs: longMs, ...more };
}

function chat(capability: Capability, around: Partial<{ prompt: string; signal: AbortSignal }> = {}) {
  const said: string[] = [];
  const { promise: spoke, resolve: onSpoke } = Promise.withResolvers<void>();
  const secrets = new AttemptSecrets();
  const context = {
    secrets,
    document: { run: { kind: "delegate", agent: "chat", prompt: around.prompt ?? "Why is the sky blue?" } },
    lease: { timeout_sec: 300 },
    signal: around.signal ?? new AbortController().signal,
    writeOutput(text: string) {
      said.push(text);
      onSpoke();
    },
  } as unknown as RunContext;
  return { said, spoke, outcome: runChat(deps, context, capability).then((end) => secrets.maskOutcome(end)) };
}

function resultOf(outcome: RunOutcome): unknown {
  return outcome.kind === "succeeded" ? JSON.parse(outcome.resultJson) : outcome;
}

function keyFile(key: string, mode = 0o600): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-chat-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "key"), key, { mode });
  return join(dir, "key");
}

const canary = "sk-or-v1-CANARYcanary";

test.each([
  [401, "INVALID_JOB", "JOB_NOT_ACCEPTED"],
  [402, "INVALID_JOB", "JOB_NOT_ACCEPTED"],
  [404, "INVALID_JOB", "NO_SUCH_MODEL"],
  [302, "INVALID_JOB", "JOB_NOT_ACCEPTED"],
  [429, "EXECUTION_ERROR", "HTTP_REQUEST_FAILED"],
  [500, "EXECUTION_ERROR", "HTTP_REQUEST_FAILED"],
  [503, "EXECUTION_ERROR", "HTTP_REQUEST_FAILED"],
])(
  "an endpoint that answers %i fails the job with %s, and what it said without the key",
  async (status, code, detail) => {
    const { url } = await startChatServer((response) => {
      response.writeHead(status, { location: "http://127.0.0.1:1/" });
      response.end(JSON.stringify({ error: { message: `no use with ${canary}`, code: status } }));
    });
    const outcome = await chat(openRouter(url, { apiKeyFile: keyFile(canary) })).outcome;
    const reason = `the endpoint of vendor/model answered ${status}: no use with ${"*".repeat(canary.length)}`;
    expect(outcome).toMatchObject({
      kind: "failed",
      code,
      detail,
      reason,
      isolation: { level: "in-process" },
    });
  },
);

test("a reason that is cut in the middle of the key shows nothing of it", async () => {
  const { url } = await startChatServer((response) => {
    response.writeHead(401);
    response.end(JSON.stringify({ error: { message: `${"x".repeat(445)}${canary}` } }));
  });
  const outcome = await chat(openRouter(url, { apiKeyFile: keyFile(canary) })).outcome;
  expect(outcome).toMatchObject({ kind: "failed", reason: expect.stringMatching(/x\*+…$/) });
});

test("an endpoint that refuses with megabytes is not read to its end", async () => {
  const { url } = await startChatServer((response) => {
    response.writeHead(500);
    response.end("x".repeat(5_000_000));
  });
  const outcome = await chat(ollama(url)).outcome;
  expect(outcome).toMatchObject({ kind: "failed", reason: "the endpoint of qwen3 answered 500" });
});

test("an endpoint that does not accept connections is a failure that may be retried", async () => {
  const outcome = await chat(ollama("http://127.0.0.1:1")).outcome;
  expect(outcome).toMatchObject({ code: "EXECUTION_ERROR", detail: "HTTP_REQUEST_FAILED" });
  expect(outcome).toMatchObject({ reason: expect.stringContaining("the endpoint of qwen3: ECONNREFUSED") });
});

test("a model without an endpoint is refused", async () => {
  const outcome = await chat({ provider: "OLLAMA", model: "qwen3", timeoutMs: longMs }).outcome;
  expect(outcome).toMatchObject({ code: "INVALID_JOB", detail: "NO_SUCH_MODEL" });
});

test.each([
  ["gone", null, "its file does not exist"],
  ["open to others", { text: canary, mode: 0o644 }, "other users can access"],
  ["two lines", { text: `${canary}\nX-Evil: 1`, mode: 0o600 }, "one word of printable ASCII"],
  ["empty", { text: "\n", mode: 0o600 }, "one word of printable ASCII"],
])("a key that is %s is not used, and only the worker's log says why", async (_name, file, why) => {
  const server = await startChatServer((response) => void response.end());
  const log = join(mkdtempSync(join(tmpdir(), "writ-chat-log-")), "log");
  const logger = openLogger({ file: log, level: "info" });
  const apiKeyFile = file === null ? "/nowhere/key" : keyFile(file.text, file.mode);
  const context = {
    document: { run: { kind: "delegate", agent: "chat", prompt: "x" } },
    signal: new AbortController().signal,
  } as unknown as RunContext;
  const outcome = await runChat(
    { clock: systemClock, logger },
    context,
    openRouter(server.url, { apiKeyFile }),
  );
  logger.close();
  const logged = readFileSync(log, "utf8");
  rmSync(join(log, ".."), { recursive: true });
  expect(outcome).toMatchObject({
    kind: "failed",
    reason: expect.stringContaining("cannot be used on this worker"),
  });
  expect(JSON.stringify(outcome)).not.toContain(apiKeyFile);
  expect(logged).toContain(why);
  expect(logged + JSON.stringify(outcome)).not.toContain("CANARY");
  expect(server.calls).toEqual([]);
});

test.each([
  ["Ollama breaks off", "OLLAMA", ollamaLine("The sky"), "destroy", "the connection broke off"],
  ["OpenRouter breaks off", "OPENROUTER", openAiEvent("The sky"), "destroy", "the connection broke off"],
  ["Ollama ends too soon", "OLLAMA", ollamaLine("The sky"), "end", "ended before the answer was complete"],
  [
    "Ollama ends in a line",
    "OLLAMA",
    `${ollamaLine("The sky")}{"mess`,
    "end",
    "ended before the answer was complete",
  ],
  [
    "OpenRouter ends too soon",
    "OPENROUTER",
    openAiEvent("The sky"),
    "end",
    "ended before the answer was complete",
  ],
  [
    "OpenRouter is done without an end",
    "OPENROUTER",
    `${openAiEvent("The sky")}data: [DONE]\n\n`,
    "end",
    "ended before",
  ],
  [
    "Ollama reports an error",
    "OLLAMA",
    `${ollamaLine("The sky")}{"error":"out of memory"}\n`,
    "end",
    "reported an error: out of memory",
  ],
  [
    "OpenRouter reports an error",
    "OPENROUTER",
    `${openAiEvent("The sky")}data: {"error":{"code":502,"message":"upstream"},"choices":[{"finish_reason":"error"}]}\n\n`,
    "end",
    "reported an error: upstream",
  ],
  [
    "Ollama sends garbage",
    "OLLAMA",
    `${ollamaLine("The sky")}<html>\n`,
    "end",
    "not a message of its protocol",
  ],
  ["Ollama sends a number", "OLLAMA", `${ollamaLine("The sky")}42\n`, "end", "not a message of its protocol"],
  [
    "OpenRouter sends garbage",
    "OPENROUTER",
    `${openAiEvent("The sky")}data: \u0000{\n\n`,
    "end",
    "not a message of its protocol",
  ],
] as const)(
  "%s in the middle: the attempt fails, and may be tried again",
  async (_name, provider, sent, how, why) => {
    const { url } = await startChatServer(async (response, _call, socket) => {
      response.write(sent);
      await nextTurn();
      if (how === "end") response.end();
      else setTimeout(() => socket.destroy(), 20);
    });
    const { outcome, said } = chat(provider === "OLLAMA" ? ollama(url) : openRouter(url));
    expect(await outcome).toMatchObject({
      kind: "failed",
      code: "EXECUTION_ERROR",
      reason: expect.stringContaining(why),
    });
    expect(said.join("")).toMatch(/^The sky\n?$/);
  },
);

test.each([
  ["more", 100_000, "the connection broke off"],
  ["less", 20, "ended before the answer was complete"],
])(
  "an endpoint that announces %s bytes than it sends has not finished its answer",
  async (_name, length, why) => {
    const { url } = await startChatServer((_response, _call, socket) => {
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${length}\r\n\r\n`;
      socket.end(head + ollamaLine("The sky"));
    });
    const outcome = await chat(ollama(url)).outcome;
    expect(outcome).toMatchObject({
      kind: "failed",
      code: "EXECUTION_ERROR",
      reason: expect.stringContaining(why),
    });
  },
);

test("an answer that never ends is cut at its limit", async () => {
  const { url, closed } = await startChatServer((response) => {
    const line = ollamaLine("x".repeat(64 * 1024));
    const fill = (): void => {
      while (!response.destroyed && response.write(line));
      if (!response.destroyed) response.once("drain", fill);
    };
    fill();
  });
  const outcome = await chat(ollama(url)).outcome;
  expect(outcome).toMatchObject({ kind: "failed", detail: "OUTPUT_LIMIT" });
  await closed;
});

test("a line that never ends is cut at its limit", async () => {
  const { url, closed } = await startChatServer((response) => {
    const fill = (): void => {
      while (!response.destroyed && response.write("x".repeat(64 * 1024)));
      if (!response.destroyed) response.once("drain", fill);
    };
    fill();
  });
  const outcome = await chat(ollama(url)).outcome;
  expect(outcome).toMatchObject({ kind: "failed", reason: expect.stringContaining("a line is longer than") });
  await closed;
});

test.each([
  ["says nothing at all", () => {}],
  [
    "hangs in the middle",
    (response: { write(text: string): unknown }) => void response.write(ollamaLine("The")),
  ],
])("an endpoint that %s is given up after its timeout", async (_name, answer) => {
  const { url, closed } = await startChatServer((response) => answer(response));
  const outcome = await chat(ollama(url, { timeoutMs: 300 })).outcome;
  expect(outcome).toMatchObject({ kind: "failed", code: "EXECUTION_ERROR" });
  expect(outcome).toMatchObject({ reason: expect.stringMatching(/within 0.3 s|within 300 ms/) });
  await closed;
});

test.each(["cancelled", "timeout", "drain", "lost"] as const)(
  "a job that is stopped (%s) closes the connection at once",
  async (reason) => {
    const { url, closed } = await startChatServer((response) => void response.write(ollamaLine("The sky")));
    const stop = new AbortController();
    const { outcome, spoke } = chat(ollama(url), { signal: stop.signal });
    await spoke;
    stop.abort(reason);
    expect(await outcome).toMatchObject(
      reason === "cancelled" || reason === "timeout"
        ? { kind: "failed", code: reason.toUpperCase() }
        : { kind: "released" },
    );
    await closed;
  },
);

test("a job that was stopped before it began makes no call", async () => {
  const server = await startChatServer((response) => void response.end());
  const outcome = await chat(ollama(server.url), { signal: AbortSignal.abort("cancelled") }).outcome;
  expect(outcome).toMatchObject({ code: "CANCELLED" });
  expect(server.calls).toEqual([]);
});

test("Ollama's answer is streamed as it arrives, and is the result", async () => {
  const { promise: firstSeen, resolve: goOn } = Promise.withResolvers<void>();
  const server = await startChatServer(async (response) => {
    const bytes = Buffer.from(ollamaLine("Grüße – "));
    // Cut within a character.
    response.write(bytes.subarray(0, bytes.indexOf(0xc3) + 1));
    await nextTurn();
    response.write(bytes.subarray(bytes.indexOf(0xc3) + 1));
    await firstSeen;
    // The connection stays open: the end of the answer is the end of the call.
    response.write(
      `\r\n${ollamaLine("", { message: { content: "", thinking: "hm" } })}${ollamaLine("Rayleigh")}`,
    );
    response.write(ollamaEnd);
  });
  const { outcome, said, spoke } = chat(ollama(`${server.url}/`), { prompt: "Why?" });
  await spoke;
  expect(said).toEqual(["Grüße – "]);
  goOn();
  expect(resultOf(await outcome)).toEqual({
    answer: "Grüße – Rayleigh",
    model: "qwen3:8b",
    usage: { prompt_tokens: 26, completion_tokens: 298 },
    finish_reason: "stop",
  });
  expect(said.join("")).toBe("Grüße – Rayleigh\n");
  const [call] = server.calls;
  expect(call).toMatchObject({
    path: "/api/chat",
    body: { model: "qwen3", messages: [{ role: "user", content: "Why?" }], stream: true },
  });
  expect(call?.headers.authorization).toBeUndefined();
  await server.closed;
});

test("an answer is complete at its end, with or without a last line break", async () => {
  const { url } = await startChatServer(
    (response) => void response.end(ollamaLine("Yes") + ollamaEnd.trim()),
  );
  expect(resultOf(await chat(ollama(url)).outcome)).toMatchObject({ answer: "Yes" });
});

test("OpenRouter's answer is streamed as it arrives and is the result, and the key is in a header", async () => {
  const { promise: firstSeen, resolve: goOn } = Promise.withResolvers<void>();
  const server = await startChatServer(async (response) => {
    response.write(`: OPENROUTER PROCESSING\n\n${openAiEvent("Ray")}`);
    await firstSeen;
    response.write(`${openAiEvent("leigh\n")}${openAiEnd}`);
  });
  const { outcome, said, spoke } = chat(
    openRouter(`${server.url}/api/v1`, { apiKeyFile: keyFile(`${canary}\n`) }),
  );
  await spoke;
  expect(said).toEqual(["Ray"]);
  goOn();
  expect(resultOf(await outcome)).toEqual({
    answer: "Rayleigh\n",
    model: "vendor/model-2",
    usage: { prompt_tokens: 10, completion_tokens: 4 },
    finish_reason: "stop",
  });
  expect(said.join("")).toBe("Rayleigh\n");
  const [call] = server.calls;
  expect(call).toMatchObject({
    path: "/api/v1/chat/completions",
    headers: { authorization: `Bearer ${canary}` },
  });
  expect(call?.body).toMatchObject({
    model: "vendor/model",
    stream: true,
    stream_options: { include_usage: true },
  });
  await server.closed;
});
