import { Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { sendJson, startTinyHub } from "../../client/testing/tiny-hub.ts";
import { createContext } from "../create-context.ts";
import { runWrit } from "./program.ts";

test("a reader that closes early is not an error", async () => {
  const hub = await startTinyHub((_, response) => sendJson(response, 200, []));
  onTestFinished(() => hub[Symbol.asyncDispose]());
  // As a pipe that is full when its reader leaves.
  const stdout = new Writable({
    highWaterMark: 1,
    write: (_piece, _encoding, done) => void done(Object.assign(new Error("gone"), { code: "EPIPE" })),
  });
  let said = "";
  const stderr = new Writable({
    write(piece: Buffer, _encoding, done) {
      said += piece.toString();
      done();
    },
  });
  const words = ["--home", "/nonexistent", "--hub", hub.url, "--token", "sk_admin_x", "tokens", "list"];
  const { version, platform, execPath } = process;
  const view = { argv: ["node", "writ", ...words], env: {}, execPath, cwd: () => "/", version, platform };
  const context = createContext("writ", { ...view, stdin: stdout, stdout, stderr } as never);
  expect([await runWrit(context), said]).toEqual([0, ""]);
});
