import { expect, test } from "vitest";
import { type AllowedHost, parseAllowedHost } from "./allowed-host.ts";
import { checkUrl } from "./check-url.ts";

function allow(...texts: string[]): AllowedHost[] {
  return texts.map((text) => parseAllowedHost(text)!);
}

test.each(["https://example.org/solver", "https://example.org:443/a?token=b#c", "https://93.184.216.34/x"])(
  "%s may be fetched",
  (url) => {
    expect(checkUrl(url, [])).toMatchObject({ isAllowed: false });
  },
);

test.each([
  "127.0.0.1",
  "[::1]",
  "0",
  "0x7f000001",
  "2130706433",
  "127.1",
  "0177.0.0.1",
  "localhost",
  "localhost.",
  "LOCALHOST",
  "a.localhost",
  "%6cocalhost",
  "127.0.0.1.",
  "①27.0.0.1",
])("U-01: https://%s is this machine", (host) => {
  expect(() => checkUrl(`https://${host}/x`, [])).toThrow(/loopback|this machine|this host/);
});

test.each([
  ["file:///etc/passwd", "must begin with https://, not with file:"],
  ["ftp://example.org/x", "not with ftp:"],
  ["gopher://example.org/x", "not with gopher:"],
  ["data:text/plain,x", "not with data:"],
  ["javascript:1", "not with javascript:"],
  ["https://user:pw@example.org/x", "a user name or a password"],
  ["https://user@example.org/x", "a user name or a password"],
  ["\\\\example.org\\x", "backslashes"],
  ["https:\\\\example.org/x", "backslashes"],
  ["https://example.org\\@127.0.0.1/x", "backslashes"],
  ["https://example.org/x\r\nHost: other", "control characters"],
  ["https://exam\tple.org/x", "control characters"],
  [" https://example.org/x", "spaces"],
  ["https://example.org/\u0000", "control characters"],
  ["//example.org/x", "a complete URL"],
  ["example.org/x", "a complete URL"],
  ["https://", "a complete URL"],
  ["https://[::1", "a complete URL"],
  ["https://1.2.3.4.5/", "a complete URL"],
  ["https://256.1.1.1/", "a complete URL"],
  ["http://example.org/x", "only by https"],
  ["https://example.org:22/x", "only at port 443"],
  ["https://example.org:25/x", "only at port 443"],
  ["https://example.org:6379/x", "only at port 443"],
  ["https://example.org:80/x", "only at port 443"],
])("U-05: %j is refused: %s", (url, problem) => {
  expect(() => checkUrl(url, [])).toThrow(problem);
});

test.each([
  ["files.example", "http://files.example/x", true],
  ["files.example", "https://files.example/x", true],
  ["files.example", "https://FILES.example./x", true],
  ["files.example", "http://files.example:443/x", false],
  ["files.example", "http://files.example:8080/x", false],
  ["files.example", "http://a.files.example/x", false],
  ["files.example:8080", "http://files.example:8080/x", true],
  ["files.example:8080", "https://files.example:8080/x", true],
  ["files.example:8080", "http://files.example/x", false],
  ["files.example:80", "http://files.example/x", true],
  ["files.example:443", "https://files.example/x", true],
  ["127.0.0.1:9", "http://127.0.0.1:9/x", true],
  ["127.0.0.1:9", "http://0x7f000001:9/x", true],
  ["127.0.0.1:9", "http://localhost:9/x", false],
  ["[::1]:9", "http://[0:0::1]:9/x", true],
])("the allowance %s decides about %s: %s", (allowance, url, isAllowed) => {
  if (isAllowed) expect(checkUrl(url, allow(allowance))).toMatchObject({ isAllowed: true });
  else
    expect(() => checkUrl(url, allow(allowance))).toThrow(
      /only the worker's operator can allow .*SOLVER_HOSTS/,
    );
});

test("a password in the URL is refused even for an allowed host", () => {
  expect(() => checkUrl("http://a:b@files.example/x", allow("files.example"))).toThrow("password");
});

test.each(["", "https://a", "a/b", "a:b", "a:0", "a:65536", "*.example", "::1", "a b", "a@b", "[::1", "*"])(
  "%j is no allowance",
  (text) => {
    expect(parseAllowedHost(text)).toBeNull();
  },
);
