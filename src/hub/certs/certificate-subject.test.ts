import { X509Certificate } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readSubject } from "./certificate-subject.ts";
import { makeAuthority, makeClientCertificate } from "./make-certificate.ts";

const authority = await makeAuthority(Date.now());

async function issued(request: { user: string; tenant: string; isAdmin: boolean }): Promise<Buffer> {
  const { certPem } = await makeClientCertificate(authority, { ...request, nowMs: Date.now() });
  return new X509Certificate(certPem).raw;
}

test("bytes that are no certificate are refused with a WritError", async () => {
  const good = await issued({ user: "alice", tenant: "acme", isAdmin: false });
  fc.assert(
    fc.property(
      fc.nat(good.length - 1),
      fc.integer({ min: 0, max: 255 }),
      fc.nat(good.length),
      (at, byte, cut) => {
        const bad = Buffer.from(good);
        bad[at] = byte;
        for (const bytes of [bad, bad.subarray(0, cut), Buffer.concat([bad, good.subarray(0, cut)])]) {
          try {
            readSubject(bytes);
          } catch (error) {
            expect(error).toMatchObject({ code: "UNAUTHENTICATED" });
          }
        }
      },
    ),
  );
});

test("the subject of an issued certificate is read back unchanged", async () => {
  const wishes = [
    { user: "alice", tenant: "acme", isAdmin: false },
    { user: "a.b-c_d@example.org", tenant: "T_1", isAdmin: true },
    { user: "x".repeat(50), tenant: "y".repeat(50), isAdmin: false },
  ];
  for (const request of wishes) expect(readSubject(await issued(request))).toEqual(request);
});
