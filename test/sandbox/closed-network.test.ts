import type { Server, Socket } from "node:net";
import { describe, expect } from "vitest";
import { cageTest, planJob, runScript, setStage } from "./cage-stage.ts";

const port = 3128;
const closed = { limitsText: { network: "closed" } } as const;

/** Answers each connection with one line, and keeps what came. */
function answering(line: string) {
  const servers: Server[] = [];
  const sockets: Socket[] = [];
  const take = (server: Server): void => {
    servers.push(server);
    server.on("connection", (socket) => {
      sockets.push(socket);
      socket.on("error", () => {}).end(`${line}\n`);
    });
  };
  return { listener: { port, take }, sockets, servers, close: () => servers.map((server) => server.close()) };
}

describe("a closed network", () => {
  const stage = setStage();
  const connect = `exec 3<>/dev/tcp/127.0.0.1/${port} && head -1 <&3`;

  cageTest("has one way out, which is open before the first instruction of the job", async () => {
    const answers = answering("hello from the worker");
    const { stdout, exitCode } = await runScript(stage, `bash -c '${connect}'`, {
      ...closed,
      listener: answers.listener,
    });
    expect({ stdout, exitCode }).toEqual({ stdout: "hello from the worker\n", exitCode: 0 });
    expect(answers.servers).toHaveLength(1);
    answers.close();
  });

  cageTest("is recorded as what it is", async () => {
    const plan = planJob(stage, ["true"], closed);
    expect((await stage.sandbox.probe(plan)).applied).toEqual(
      expect.arrayContaining(["network", "network: closed"]),
    );
  });

  cageTest("of one job is not reached from another's", async () => {
    const first = answering("first");
    const second = answering("second");
    const script = `bash -c '${connect}; ${connect}'`;
    const runs = [first, second].map(({ listener }) => runScript(stage, script, { ...closed, listener }));
    expect((await Promise.all(runs)).map(({ stdout }) => stdout)).toEqual([
      "first\nfirst\n",
      "second\nsecond\n",
    ]);
    const { stderr } = await runScript(stage, `bash -c '${connect}'`, closed);
    expect(stderr).toContain("Connection refused");
    for (const { close } of [first, second]) close();
  });

  cageTest("leaves no descriptor of the socket, the channel or the launcher in the job", async () => {
    const answers = answering("hello");
    const { stdout } = await runScript(
      stage,
      "ls -l /proc/self/fd | grep -c socket; cat /proc/net/unix | wc -l",
      {
        ...closed,
        listener: answers.listener,
      },
    );
    expect(stdout).toBe("0\n1\n");
    answers.close();
  });

  cageTest("whose job cannot be started leaves the next job alone", async () => {
    const answers = answering("hello");
    const { spawnError } = await runScript(stage, "true", {
      ...closed,
      listener: answers.listener,
      argv: ["no-such"],
    });
    expect(spawnError?.code).toBe("ENOENT");
    expect((await runScript(stage, "true")).exitCode).toBe(0);
    answers.close();
  });

  cageTest("that has ended frees its socket, and a hundred after another leave none", async () => {
    for (let round = 0; round < 100; round++) {
      const answers = answering("hello");
      await runScript(stage, "true", { ...closed, listener: answers.listener });
      answers.close();
    }
    const answers = answering("still here");
    const { stdout } = await runScript(stage, `bash -c '${connect}'`, {
      ...closed,
      listener: answers.listener,
    });
    expect(stdout).toBe("still here\n");
    answers.close();
  });
});
