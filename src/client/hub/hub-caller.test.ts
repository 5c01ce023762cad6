import { expect, onTestFinished, test } from "vitest";
import { startTinyHub } from "../testing/tiny-hub.ts";
import { Writ } from "../writ.ts";

test.each([
  [200, "ok", "(status 200) is not JSON; is it a hub?"],
  [200, '{"a":1}', "has an unexpected value at its root"],
  [202, "", "the unexpected status 202"],
  [404, "not here", "status 404"],
])(
  "an answer with status %i and %j, which no hub gives, is reported with the address",
  async (status, body, problem) => {
    const server = await startTinyHub((_seen, response) => void response.writeHead(status).end(body));
    onTestFinished(() => server[Symbol.asyncDispose]());
    const writ = new Writ({ url: server.url, token: "sk_user_x" });
    onTestFinished(() => writ.close());
    const call = writ.listPage();
    await expect(call).rejects.toThrow(`the hub at ${new URL(server.url).origin}`);
    await expect(call).rejects.toThrow(problem);
  },
);
