import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { createContext } from "../../create-context.ts";
import { greet } from "./greet.ts";

type GreetOptions = { env?: Record<string, string>; workerId?: string; loginUrl?: string };

function greeting(home: string, { env = {}, workerId, loginUrl }: GreetOptions = {}): string {
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
  greet(around, { url, grpcPort: 50_051, home, workerId, loginUrl });
  return text;
}

test("what to try names a home that a command in another terminal would not find", () => {
  const env = { WRIT_HOME: "/srv/writ" };
  expect(greeting("/srv/writ", { env, workerId: "vm" })).toContain("jobctl --home /srv/writ run echo");
  expect(greeting("/srv/my writ")).toContain("`writ --home '/srv/my writ' open`");
});

test("what to try does not name the home that every command finds", () => {
  expect(greeting("/home/ada/.writ")).not.toContain("--home");
  expect(greeting("/home/ada/.writ", { env: { WRIT_HOME: "/home/ada/.writ" } })).not.toContain("--home");
});

test("a hub without a worker says how to add one, because a job would only wait", () => {
  const alone = greeting("/srv/writ");
  expect(alone).toContain("  writ --home /srv/writ workers add NAME --out NAME.yaml\n");
  expect(alone).toContain("writ worker --config NAME.yaml");
  expect(alone).not.toContain("run echo hello");
  const beside = greeting("/srv/writ", { workerId: "vm" });
  expect(beside).toContain("run echo hello");
  expect(beside).not.toContain("workers add");
});

test("where no link may be shown, the greeting names the command that makes one", () => {
  expect(greeting("/home/ada/.writ")).toContain("`writ open` makes a link to the dashboard");
  const shown = greeting("/home/ada/.writ", { loginUrl: "http://127.0.0.1:3000/#login=abc" });
  expect(shown).toContain("later `writ open` makes another link:\n  http://127.0.0.1:3000/#login=abc\n");
});
