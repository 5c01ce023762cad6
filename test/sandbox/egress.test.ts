import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cageTest, setStage } from "./cage-stage.ts";
import {
  type Credentials,
  makeCredentials,
  Names,
  nodeInside,
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

describe("programs that know nothing of Writ", () => {
  const stage = setStage();
  const names = new Names({ "files.test": ["127.0.0.1"] });
  const large = randomBytes(24 * 1024 ** 2);
  const sha256 = createHash("sha256").update(large).digest("hex");
  const dir = mkdtempSync(join(tmpdir(), "writ-programs-"));
  let credentials: Credentials;
  let server: Awaited<ReturnType<typeof openHttps>>;
  let uploaded = "";

  beforeAll(async () => {
    credentials = makeCredentials(["files.test"]);
    server = await openHttps(credentials, serveFiles);
    const git = (...words: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], {
        cwd: dir,
        stdio: "ignore",
      });
    git("init", "-q", "-b", "main", "source");
    writeFileSync(join(dir, "source", "file.txt"), "from git\n");
    git("-C", "source", "add", ".");
    git("-C", "source", "commit", "-qm", "first");
    git("clone", "-q", "--bare", "source", "repo.git");
    git("-C", "repo.git", "update-server-info");
  });
  afterAll(() => {
    server.close();
    credentials.close();
    rmSync(dir, { recursive: true, force: true });
  });

  async function serveFiles(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://x");
    if (request.method === "PUT") {
      const hash = createHash("sha256");
      for await (const chunk of request) hash.update(chunk);
      uploaded = hash.digest("hex");
      response.end();
    } else if (pathname === "/large") response.writeHead(200, { "content-length": large.length }).end(large);
    else if (pathname === "/thing") response.end(JSON.stringify(registryAnswer));
    else {
      const file = join(dir, pathname);
      if (existsSync(file) && statSync(file).isFile()) response.end(readFileSync(file));
      else response.writeHead(404).end();
    }
  }

  const registryAnswer = {
    name: "thing",
    "dist-tags": { latest: "1.2.3" },
    versions: { "1.2.3": { name: "thing", version: "1.2.3", dist: { tarball: "https://files.test/t.tgz" } } },
  };

  const origin = () => `https://files.test:${portOf(server)}`;
  const run = (script: string, env: Record<string, string> = {}) =>
    runClosed(stage, ["sh", "-c", script], {
      names,
      egress: { allow: [`files.test:${portOf(server)}`] },
      allow: [`files.test:${portOf(server)}`, `127.0.0.1:${portOf(server)}`],
      env,
    });

  cageTest("load and send large files to the byte", async () => {
    const { stdout, usage } = await run(
      `curl -sSk ${origin()}/large | tee /tmp/large | sha256sum; curl -sSk -T /tmp/large ${origin()}/up`,
    );
    expect(stdout).toBe(`${sha256}  -\n`);
    expect(uploaded).toBe(sha256);
    expect(usage.network).toMatchObject({ requests: 2, denied: 0 });
    expect(usage.network!.bytes).toBeGreaterThan(2 * large.length);
  });

  cageTest("lose nothing to a reader that is slow", async () => {
    const { stdout } = await run(
      `curl -sSk ${origin()}/large | (head -c 1000000 >/tmp/head; sha256sum >/tmp/sum; cat /tmp/head) | wc -c`,
    );
    expect(stdout).toBe("1000000\n");
  });

  cageTest("clone a repository by git over https", async () => {
    const env = { GIT_SSL_NO_VERIFY: "1", GIT_CONFIG_NOSYSTEM: "1", HOME: "/tmp" };
    const { stdout, stderr } = await run(
      `git clone -q ${origin()}/repo.git /tmp/clone && cat /tmp/clone/file.txt`,
      env,
    );
    expect(stdout + stderr).toBe("from git\n");
  });

  installedTest("/usr/bin/npm", "ask a registry by npm", async () => {
    const env = {
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
      HOME: "/tmp",
      npm_config_registry: `${origin()}/`,
      npm_config_fund: "false",
    };
    const { stdout, stderr, usage } = await run(
      "npm view thing version --strict-ssl=false --prefer-online",
      env,
    );
    expect({ stdout, stderr, use: usage.network?.denied }).toMatchObject({ stdout: "1.2.3\n", use: 0 });
  });

  installedTest(
    "/usr/bin/python3",
    "load by Python's urllib, and by requests and pip where they are installed",
    async () => {
      const program = `
import ssl, urllib.request
context = ssl._create_unverified_context()
print(len(urllib.request.urlopen("${origin()}/large", context=context).read()))
try:
    import requests, warnings
    warnings.simplefilter("ignore")
    print(len(requests.get("${origin()}/large", verify=False).content))
except ImportError:
    print(${large.length})
`;
      const { stdout, stderr } = await run(`/usr/bin/python3 -c '${program}'`);
      expect({ stdout, stderr }).toEqual({ stdout: `${large.length}\n${large.length}\n`, stderr: "" });
    },
  );

  cageTest("fetch by Node's own fetch", async () => {
    const program = `process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"; process.removeAllListeners("warning");
      const answer = await fetch("${origin()}/large"); console.log((await answer.arrayBuffer()).byteLength)`;
    const { stdout } = await run(`${nodeInside} --input-type=module -e '${program}'`, {
      NODE_NO_WARNINGS: "1",
    });
    expect(stdout).toBe(`${large.length}\n`);
  });
});

function installedTest(file: string, name: string, act: () => Promise<void>): void {
  if (existsSync(file)) cageTest(name, act, { timeoutMs: 60_000 });
  else test.skip(`${name} (not capable: there is no ${file})`, act);
}
