import { once } from "node:events";
import { readFileSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type JobInput, Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { sha256Of } from "./solver-server.ts";
import { padded, SolverStage } from "./solver-stage.ts";

const stage = new SolverStage();
const { server } = stage;

const sum = `#!/usr/bin/env python3
import json, sys
params = json.loads(sys.argv[2])
print("adding", file=sys.stderr)
print(json.dumps({"sum": params["a"] + params["b"]}))
`;

beforeAll(() =>
  stage.open({ WORKER_SLOTS: "3", SOLVER_MAX_BYTES: "100000", SOLVER_CACHE_MAX_BYTES: "250000" }),
);
afterAll(() => stage.close());

describe("a solver that is published as it should be", () => {
  test("is downloaded once, verified, and run with its params", async () => {
    const solver = server.publish("/sum", sum);
    const first = await stage.solve({ ...solver, params: { a: 2, b: 3 } });
    expect(first).toMatchObject({ status: "completed", result: { sum: 5 }, exit_code: 0, ...solver });
    const again = await stage.solve({
      ...solver,
      solver_checksum: `sha256:${solver.solver_checksum}`,
      params: { a: 1, b: 1 },
    });
    expect(again).toMatchObject({ status: "completed", result: { sum: 2 } });
    expect(server.requestsOf("/sum")).toBe(1);
    expect(stage.cached()).toContain(solver.solver_checksum);
  });

  test("gets the params as they were signed, also in its input file", async () => {
    const show = server.publish("/show", '#!/bin/sh\nprintf \'%s\\n\' "$1" "$2"\ncat "$JOB_INPUT_FILE"\n');
    const body = `{"type":"solve","solver_url":"${show.solver_url}","solver_checksum":"${show.solver_checksum}","params":{"x":1.50,"y":1e3,"ü":"ß"}}`;
    const answer = await fetch(`${stage.hub.url}/api/v1/jobs`, {
      method: "POST",
      headers: { authorization: `Bearer ${stage.hub.token}`, "content-type": "application/json" },
      body,
    });
    const { id } = (await answer.json()) as { id: string };
    await stage.endOf(id);
    const signed = '{"x":1.5,"y":1000.0,"\\u00fc":"\\u00df"}';
    expect(await stage.outputOf(id)).toBe(`--params\n${signed}\n${signed}`);
  });

  test("may print one JSON document over several lines", async () => {
    const pretty = server.publish(
      "/pretty",
      "#!/bin/sh\necho thinking\nprintf '{\\n  \"a\": [\\n    1\\n  ]\\n}\\n'\n",
    );
    expect(await stage.solve(pretty)).toMatchObject({ status: "completed", result: { a: [1] } });
  });

  test("fails like any process, and keeps its result", async () => {
    const broken = server.publish("/broken", '#!/bin/sh\necho \'{"so":"far"}\'\nexit 3\n');
    expect(await stage.solve(broken)).toMatchObject({
      status: "failed",
      fail_code: "EXECUTION_ERROR",
      fail_detail: "WORKER_EXIT_ERROR",
      exit_code: 3,
    });
  });

  test("that needs an interpreter which the worker lacks says so", async () => {
    const strange = server.publish("/strange", "#!/usr/bin/no-such-language\n");
    expect(await stage.solve(strange)).toMatchObject({
      status: "failed",
      fail_detail: "SPAWN_FAILED",
      fail_history: [{ reason: expect.stringContaining("the program that its first line names") }],
    });
  });

  test("is downloaded once for jobs that start together", async () => {
    const slow = padded("shared", 1000);
    const held = Promise.withResolvers<void>();
    const url = server.on("/shared", (_request, response) => {
      response.writeHead(200, { "content-length": slow.length });
      void held.promise.then(() => response.end(slow));
    });
    const job = { solver_url: url, solver_checksum: sha256Of(slow) };
    const ids = await Promise.all([stage.submit(job), stage.submit(job)]);
    await eventually("both wait for the download", async () => {
      const jobs = await Promise.all(ids.map((id) => stage.writ.get(id)));
      return jobs.every(({ status }) => status === "running") && server.requestsOf("/shared") > 0;
    });
    held.resolve();
    for (const id of ids)
      expect(await stage.endOf(id)).toMatchObject({ status: "completed", result: "shared" });
    expect(server.requestsOf("/shared")).toBe(1);
  });

  test("belongs to its tenant: another one downloads its own", async () => {
    const solver = server.publish("/tenants", padded("tenants", 500));
    const { token } = await stage.writ.createToken({ role: "user", tenantId: "other", userId: "olga" });
    const other = new Writ({ url: stage.hub.url, token });
    expect(await stage.solve(solver)).toMatchObject({ status: "completed" });
    expect(await stage.solve(solver, other)).toMatchObject({ status: "completed", tenant_id: "other" });
    other.close();
    expect(server.requestsOf("/tenants")).toBe(2);
    expect(stage.cached("other")).toEqual([solver.solver_checksum]);
  });
});

describe("a solver that must not run", () => {
  test("U-06: with another checksum is neither run nor kept", async () => {
    const { solver_url } = server.publish("/evil", "#!/bin/sh\necho '\"evil\"'\n");
    const job = await stage.solve({ solver_url, solver_checksum: "0".repeat(64) });
    expect(job).toMatchObject({
      status: "failed",
      fail_code: "INVALID_JOB",
      fail_detail: "SOLVER_CHECKSUM_MISMATCH",
      result: null,
      output: { stdout: 0 },
    });
    expect(stage.cached().filter((name) => name.includes("0".repeat(64)))).toEqual([]);
  });

  test("U-06: without a checksum there is no job", async () => {
    const job = { type: "solve", solver_url: server.urlOf("/x") };
    await expect(stage.writ.submit(job as JobInput)).rejects.toThrow("solver_checksum: is required");
  });

  test("U-06: that is too large, by its word or in fact, is not downloaded to its end", async () => {
    const url = server.on("/large", (_request, response) => {
      response.writeHead(200, { "content-length": 10 * 1024 ** 3 });
      response.flushHeaders();
    });
    let sent = 0;
    const endless = server.on("/endless", (_request, response) => {
      response.writeHead(200);
      const send = (error?: Error | null): void => {
        if (error) return;
        sent += 65_536;
        response.write(Buffer.alloc(65_536), send);
      };
      send();
    });
    for (const solver_url of [url, endless]) {
      expect(await stage.solve({ solver_url, solver_checksum: "1".repeat(64) })).toMatchObject({
        status: "failed",
        fail_detail: "JOB_NOT_ACCEPTED",
        fail_history: [{ reason: "the solver was not downloaded: the file is larger than 100000 bytes" }],
      });
    }
    expect(sent).toBeLessThan(1024 ** 3);
    expect(stage.cached().filter((name) => name.includes("1".repeat(64)))).toEqual([]);
  });

  test("U-06: whose connection is cut is tried again, and nothing of it is kept", async () => {
    const whole = padded("cut", 5000);
    const url = server.on("/cut", (_request, response) => {
      response.writeHead(200, { "content-length": whole.length });
      response.write(whole.slice(0, 1000), () => response.destroy());
    });
    const job = { solver_url: url, solver_checksum: sha256Of(whole) };
    expect(await stage.solve({ ...job, max_attempts: 2 })).toMatchObject({
      status: "quarantined",
      attempts: 2,
      fail_detail: "HTTP_REQUEST_FAILED",
    });
    expect(stage.cached().filter((name) => name.includes(sha256Of(whole)))).toEqual([]);
    server.publish("/cut", whole);
    expect(await stage.solve(job)).toMatchObject({ status: "completed", result: "cut" });
  });

  test("U-04: behind a redirect to a private address is not fetched", async () => {
    let visits = 0;
    const canary = createServer((socket) => {
      visits++;
      socket.destroy();
    });
    canary.listen(0, "127.0.0.1");
    await once(canary, "listening");
    const { port } = canary.address() as { port: number };
    for (const location of [
      `http://127.0.0.1:${port}/`,
      `https://127.0.0.1:${port}/`,
      "file:///etc/passwd",
    ]) {
      const url = server.on("/away", (_request, response) => response.writeHead(302, { location }).end());
      expect(await stage.solve({ solver_url: url, solver_checksum: "2".repeat(64) })).toMatchObject({
        status: "failed",
        fail_code: "INVALID_JOB",
        fail_detail: "URL_FORBIDDEN",
      });
    }
    canary.close();
    expect(visits).toBe(0);
  });

  test("U-01: on the worker itself is not fetched, and not even when it is cached", async () => {
    const { solver_checksum } = server.publish("/sum", sum);
    const [, port] = server.host.split(":");
    const before = server.requestsOf("/sum");
    for (const host of ["localhost", "localhost.", "0", "[::1]", "[::ffff:127.0.0.1]", "127.0.0.2"]) {
      const job = await stage.solve({
        solver_url: `http://${host}:${port}/sum`,
        solver_checksum,
        params: { a: 1, b: 1 },
      });
      expect({ host, detail: job.fail_detail }).toEqual({ host, detail: "URL_FORBIDDEN" });
    }
    expect(server.requestsOf("/sum")).toBe(before);
  });

  test("U-05: with a URL that no worker would accept is refused before there is a job", async () => {
    const refused = [
      "file:///etc/passwd",
      "ftp://h/x",
      "https://user:pw@h/x",
      "\\\\h\\x",
      "https://h/x\r\ny: z",
    ];
    for (const url of refused) {
      const run = { kind: "solver", url, checksum: "3".repeat(64) } as const;
      await expect(stage.writ.submit({ type: "solve", run })).rejects.toThrow("run.url: must");
      const job = { type: "solve", solver_url: url, solver_checksum: "3".repeat(64) } as JobInput;
      await expect(stage.writ.submit(job)).rejects.toThrow("solver_url: must");
    }
  });
});

describe("the cache on disk", () => {
  test("is verified at each use: a changed file is downloaded again and never run", async () => {
    const program = padded("honest", 700);
    const solver = server.publish("/honest", program);
    expect(await stage.solve(solver)).toMatchObject({ result: "honest" });
    const file = join(stage.cacheDir, "default", solver.solver_checksum);
    const tricks = [
      () => writeFileSync(file, "#!/bin/sh\necho '\"evil\"'\n", { mode: 0o600 }),
      () => {
        unlinkSync(file);
        symlinkSync("/bin/echo", file);
      },
      () => unlinkSync(file),
    ];
    for (const [index, trick] of tricks.entries()) {
      trick();
      expect(await stage.solve(solver)).toMatchObject({ status: "completed", result: "honest" });
      expect(server.requestsOf("/honest")).toBe(index + 2);
      expect(readFileSync(file, "utf8")).toBe(program);
    }
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("gives up what was used least recently, and never what runs", async () => {
    const first = server.publish("/first", padded("first", 90_000));
    const waiting = "#!/bin/sh\necho begun >&2\nwhile [ ! -e /work/go ]; do sleep 0.05; done\n";
    const second = server.publish("/second", padded("second", 90_000));
    const third = server.publish("/third", padded("third", 90_000));
    const running = server.publish("/running", `${waiting}echo '"ran on"'\nexit\n`.padEnd(90_000, "#"));
    const id = await stage.submit(running);
    await eventually("it runs", async () => (await stage.writ.get(id)).output.stderr > 0);
    for (const solver of [first, second, first, third]) {
      expect(await stage.solve(solver)).toMatchObject({ status: "completed" });
    }
    const left = stage.cached();
    expect(left).toContain(third.solver_checksum);
    expect(left).toContain(first.solver_checksum);
    expect(left).not.toContain(second.solver_checksum);
    expect(left).not.toContain(running.solver_checksum);
    expect(await stage.writ.get(id)).toMatchObject({ status: "running" });
    const { attempt } = await stage.writ.get(id);
    writeFileSync(join(stage.worker.home, "work", "folders", `${id}.${attempt}`, "go"), "");
    expect(await stage.endOf(id)).toMatchObject({ status: "completed", result: "ran on" });
  });
});
