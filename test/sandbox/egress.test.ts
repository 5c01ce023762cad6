import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { cageTest, setStage } from "./cage-stage.ts";
import {
  type Credentials,
  makeCredentials,
  Names,
  openHttp,
  openHttps,
  portOf,
  runClosed,
} from "./egress-world.ts";

const hello = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.url === "/moved") response.writeHead(302, { location: "http://elsewhere.test/" }).end();
  else response.end(`hello from ${request.headers.host} ${request.url}\n`);
};

describe("a closed network lets out", () => {
  const stage = setStage();
  const names = new Names({
    "plain.test": ["127.0.0.1"],
    "secure.test": ["127.0.0.1"],
    "deep.api.test": ["127.0.0.1"],
  });
  let credentials: Credentials;
  let http: Awaited<ReturnType<typeof openHttp>>;
  let https: Awaited<ReturnType<typeof openHttps>>;

  beforeAll(async () => {
    credentials = makeCredentials(["secure.test"]);
    http = await openHttp(hello);
    https = await openHttps(credentials, hello);
  });
  afterAll(() => {
    http.close();
    https.close();
    credentials.close();
  });

  const allowed = () => [`127.0.0.1:${portOf(http)}`, `127.0.0.1:${portOf(https)}`];
  const run = (argv: string[], allow: string[], more: object = {}) =>
    runClosed(stage, argv, {
      names,
      egress: { allow },
      allow: ["*:80", `*:${portOf(http)}`, `*:${portOf(https)}`, ...allowed()],
      ...more,
    });

  cageTest("a plain request to a host that is allowed, and no other", async () => {
    const url = `http://plain.test:${portOf(http)}/path`;
    const good = await run(["curl", "-sS", url], [`plain.test:${portOf(http)}`]);
    expect(good.stdout).toBe(`hello from plain.test:${portOf(http)} /path\n`);
    expect(good.usage.network).toMatchObject({ requests: 1, denied: 0 });
    const bad = await run(["curl", "-sS", "-w", "%{http_code}", url], [`other.test:${portOf(http)}`]);
    expect(bad.stdout).toBe(
      `plain.test:${portOf(http)} is not allowed (the network of this job is closed)\n403`,
    );
    expect(bad.isolation.network?.denied).toEqual([
      { host: `plain.test:${portOf(http)}`, why: "is not allowed", requests: 1 },
    ]);
  });

  cageTest("TLS by CONNECT and by SOCKS5, with names below a wildcard", async () => {
    const url = `https://secure.test:${portOf(https)}/`;
    for (const way of [[], ["-x", "socks5h://127.0.0.1:3128"]]) {
      const { stdout, stderr } = await run(["curl", "-sSk", ...way, url], [`*.test:${portOf(https)}`]);
      expect(stdout + stderr).toBe(`hello from secure.test:${portOf(https)} /\n`);
    }
    const { stderr } = await run(["curl", "-sSk", url], [`*.secure.test:${portOf(https)}`]);
    expect(stderr).toContain("403");
  });

  cageTest("a redirect as it is, to be asked for like any other request", async () => {
    const url = `http://plain.test:${portOf(http)}/moved`;
    const { stdout, isolation } = await run(["curl", "-sSL", url], [`plain.test:${portOf(http)}`]);
    expect(stdout).toContain("elsewhere.test:80 is not allowed");
    expect(isolation.network).toMatchObject({
      allow: [`plain.test:${portOf(http)}`],
      allowed: [{ host: `plain.test:${portOf(http)}`, requests: 1 }],
      denied: [{ host: "elsewhere.test:80", requests: 1 }],
    });
    expect(names.asked).not.toContain("elsewhere.test");
  });
});
