import { expect, test } from "vitest";
import { unreachableAdvice } from "./unreachable-advice.ts";

const http = new URL("http://127.0.0.1:3000");
const https = new URL("https://127.0.0.1:3000");

test.each([
  [http, "ECONNREFUSED"],
  [https, "ECONNREFUSED"],
  [https, "ECONNRESET"],
  [http, "no response within 30000 ms"],
])("of %s, %s says nothing about what is there", (url, reason) => {
  expect(unreachableAdvice(url, reason)).toBeUndefined();
});

test("a scheme or port that is wrong is named with the right one", () => {
  expect(unreachableAdvice(https, "EPROTO")).toContain(
    "does not speak TLS; if it is the hub's address, use http://127",
  );
  expect(unreachableAdvice(http, "ECONNRESET")).toMatch(
    /TLS \(https:\/\/127\.0\.0\.1:3000\), or .* gRPC port/,
  );
  expect(unreachableAdvice(https, "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED")).toContain("gRPC port");
  expect(unreachableAdvice(https, "SELF_SIGNED_CERT_IN_CHAIN")).toContain("--ca");
});
