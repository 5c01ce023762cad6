import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { becomeOrdinaryUser, cageTest, runScript, setStage } from "./cage-stage.ts";

/** The tests of a cage once more, in cages that an ordinary user builds. */
becomeOrdinaryUser();
describe("without root, a cage", () => import("./cage.test.ts").then(() => {}));
describe("without root, escapes", () => import("./escapes.test.ts").then(() => {}));
describe("without root, endings", () => import("./endings.test.ts").then(() => {}));
describe("without root, a closed network", () => import("./closed-network.test.ts").then(() => {}));
describe("without root, a way out", () => import("./egress.test.ts").then(() => {}));
describe("without root, a key", () => import("./key-injection.test.ts").then(() => {}));
describe("without root, rlimits", () => import("./rlimits.test.ts").then(() => {}));
describe("without root, mounts of a job", () => import("./job-mounts.test.ts").then(() => {}));
describe("without root, files of a job", () => import("./open-beneath.test.ts").then(() => {}));
describe("without root, removal", () => import("./removal.test.ts").then(() => {}));
describe("without root, the library", () => import("./library.test.ts").then(() => {}));

describe("without root, mounts", () => {
  const stage = setStage();

  cageTest("files of the worker's user are written without a map, and no set-id file is made", async () => {
    const [uid, gid] = [process.getuid!(), process.getgid!()];
    const source = join(stage.dir, "repo");
    mkdirSync(source, { mode: 0o700 });
    const mounts = [{ source, target: "/repo", access: "writable" as const, idmapped: { uid, gid } }];
    const script = "echo hi > /repo/new; stat -c %u /repo/new; chmod u+s /repo/new || echo refused";
    expect((await runScript(stage, script, { mounts })).stdout).toBe("65534\nrefused\n");
    expect(readFileSync(join(source, "new"), "utf8")).toBe("hi\n");
    expect(statSync(join(source, "new"))).toMatchObject({ uid, gid, mode: 0o100644 });
  });

  cageTest("files of somebody else cannot be written for their owner", async () => {
    const idmapped = { uid: 0, gid: 0 };
    const mounts = [{ source: "/usr/lib", target: "/repo", access: "writable" as const, idmapped }];
    await expect(runScript(stage, "true", { mounts })).rejects.toThrow(
      "/usr/lib belongs to uid 0; without root a job acts only for the worker's own user",
    );
  });
});
