import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cgroup, check, finish, plan, run, started, until } from "./check-stage.mjs";
import { frame } from "./launcher-client.mjs";

/**
 * `node launcher/test/check-hang.mjs <writ-launcher>`: a start that hangs. The launcher is one that was built with
 * `-DSTART_MS_MAX=500u`. As root.
 */

await check(
  "a start that hangs is given up, nothing of it runs, and others are served meanwhile",
  async (client) => {
    // A process that is born in a frozen cgroup never takes a step.
    const frozen = join(cgroup, "frozen");
    mkdirSync(frozen);
    writeFileSync(join(frozen, "cgroup.freeze"), "1");
    const one = plan(["echo", "it ran"], { cgroup: frozen });
    const late = started(client, one);
    assert.equal((await run(client, plan(["true"]))).exitCode, 0);
    const { type, step, errno } = await late;
    assert.deepEqual([type, step, errno], [frame.failed, "launcher", 110]);
    await until(() => readFileSync(join(frozen, "cgroup.procs"), "utf8") === "");
    rmdirSync(frozen);
    assert.equal(readFileSync(one.stdout, "utf8"), "");
    // Its id is free again.
    assert.equal((await run(client, { ...plan(["true"]), id: one.id })).exitCode, 0);
  },
);

finish();
