import { expect, it } from "vitest";
import { networkDetails } from "./network-details.ts";

const counts = { requests: 3, denied: 1, bytes: 9 };

it("an attempt without a closed network says nothing of it", () => {
  expect(networkDetails(null, null)).toBeNull();
  expect(networkDetails('{"level":"strict","applied":["network"],"missing":[]}', "{}")).toBeNull();
});

it("the event of an end names the first hosts of a closed network, with the counts", () => {
  const hosts = Array.from({ length: 30 }, (_, index) => ({ host: `h${index}.test:443`, requests: 1 }));
  const denied = hosts.map((host) => ({ ...host, why: "is not allowed" }));
  const isolation = JSON.stringify({ level: "strict", network: { allow: [], allowed: hosts, denied } });
  expect(networkDetails(isolation, JSON.stringify({ network: counts }))).toEqual({
    ...counts,
    allowed_hosts: hosts.slice(0, 16),
    denied_hosts: denied.slice(0, 16),
  });
});
