import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { memoryHubForAll } from "../support/use-hub.ts";

const hub = memoryHubForAll();

test.each(["/healthz", "/api/v1/session", "/nothing"])(
  "A18: two Host headers are refused on %s",
  async (path) => {
    const connection = hub.agent.createConnection({})!;
    // By hand, because Node's client cannot send this.
    connection.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    );
    const answer = await text(connection);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"path":"Host","message":"must be given once"');
  },
);
