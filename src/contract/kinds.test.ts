import { describe, expect, it } from "vitest";
import { commandOf, hiddenIn, kindNames, rulesOf, runSpec } from "./kinds.ts";

describe("a run", () => {
  it("must be of a kind in the table, and the refusal names them all", () => {
    const refused = runSpec.safeParse({ kind: "dance" });
    for (const kind of kindNames) expect(refused.error?.issues[0]?.message).toContain(kind);
  });

  it("has only the fields of its kind", () => {
    expect(runSpec.safeParse({ kind: "handler", params: [1] }).success).toBe(true);
    expect(runSpec.safeParse({ kind: "handler", argv: ["true"] }).success).toBe(false);
  });

  it("shows the command that it names", () => {
    expect(commandOf({ kind: "exec", argv: ["ls", "/"] })).toEqual(["ls", "/"]);
    expect(commandOf({ kind: "persistent_http", worker_command: ["serve"] })).toEqual(["serve"]);
    expect(commandOf({ kind: "handler" })).toBeNull();
  });

  it("hides what may be secret", () => {
    expect(hiddenIn({ kind: "exec", argv: ["true"], env: { A: "b" } })).toEqual(["env"]);
    expect(hiddenIn({ kind: "exec", argv: ["true"] })).toEqual([]);
  });

  it("of a kind that only a newer hub knows is hidden whole and names no command", () => {
    const run = { kind: "dance", argv: ["true"], steps: ["left"] };
    expect(hiddenIn(run)).toEqual(["argv", "steps"]);
    expect(commandOf(run)).toBeNull();
  });
});

describe("the rules of a kind", () => {
  it("bound its timeout, by an hour when the row says nothing", () => {
    expect(rulesOf("exec")).toMatchObject({ timeoutSecMax: 604_800, canRunForever: true });
    expect(rulesOf("handler")).toMatchObject({ timeoutSecMax: 3_600, canRunForever: false });
  });

  it("name what reaches the process as one argument", () => {
    expect(rulesOf("solver").argument).toBe("params");
    expect(rulesOf("exec_per_job").argument).toBe("job_input");
    expect(rulesOf("persistent_http").argument).toBeNull();
  });
});
