import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { createContext } from "../create-context.ts";
import { greet } from "./greet.ts";

function greeting(home: string, env: Record<string, string> = {}): string {
  let text = "";
  const sink = new Writable({
    write(piece: Buffer, _encoding, done) {
      text += piece.toString();
      done();
    },
  });
  const view = { argv: [], cwd: () => "/", execPath: "", version: "", platform: "linux", stdin: sink };
  const context = createContext("writ", { ...view, env, stdout: sink, stderr: sink } as never);
  const around = { ...context, checkout: undefined, userHome: "/home/ada" };
  const url = "http://127.0.0.1:3000";
  greet(around, { url, grpcPort: 50_051, home, workerId: undefined, loginUrl: "http://login" });
  return text;
}

test("what to try names a home that a command in another terminal would not find", () => {
  expect(greeting("/srv/writ", { WRIT_HOME: "/srv/writ" })).toContain("jobctl --home /srv/writ run echo");
  expect(greeting("/srv/my writ")).toContain("`writ --home '/srv/my writ' open`");
});

test("what to try does not name the home that every command finds", () => {
  expect(greeting("/home/ada/.writ")).not.toContain("--home");
  expect(greeting("/home/ada/.writ", { WRIT_HOME: "/home/ada/.writ" })).not.toContain("--home");
});
