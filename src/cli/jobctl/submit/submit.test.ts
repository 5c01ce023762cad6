import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { jobIdNumber, sendJson, startTinyHub } from "../../../client/testing/tiny-hub.ts";
import { createContext } from "../../create-context.ts";
import { runJobctl } from "../program.ts";

async function withHub() {
  const hub = await startTinyHub((_, response) =>
    sendJson(response, 201, { id: jobIdNumber(1), status: "pending" }),
  );
  const home = mkdtempSync(join(tmpdir(), "writ-cli-"));
  onTestFinished(async () => {
    rmSync(home, { recursive: true, force: true });
    await hub[Symbol.asyncDispose]();
  });
  const env = { WRIT_HUB_URL: hub.url, WRIT_TOKEN: "sk_user_x", WRIT_HOME: home };
  const run = async (args: string[]) => {
    let text = "";
    const sink = {
      on: () => sink,
      write: (part: string) => {
        text += part;
        return true;
      },
    };
    const view = { argv: ["node", "jobctl", ...args], env, execPath: "", cwd: () => "/" };
    const context = createContext("jobctl", { ...view, stdout: sink, stderr: sink } as never);
    return { exitCode: await runJobctl(context), text };
  };
  return { hub, home, run };
}

test("O-26: a word after -- never becomes the type", async () => {
  const { hub, home, run } = await withHub();
  expect(await run(["submit", "--exec", "--", "echo", "hi"])).toEqual({
    exitCode: 2,
    text: expect.stringMatching(/^jobctl: no type given; name one before --.*\n$/),
  });
  expect(hub.seen).toEqual([]);
  const file = join(home, "job.json");
  writeFileSync(file, '{"type": "greet"}');
  await run(["submit", "--file", file, "--exec", "--", "echo", "hi"]);
  expect(JSON.parse(hub.seen[0]!.body)).toMatchObject({
    type: "greet",
    run: { kind: "exec", argv: ["echo", "hi"] },
  });
});
