import { expect, test } from "vitest";
import { networkOf } from "./note-failed-login.ts";

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["null", "null"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:0DB8:0:0:ffff::", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("O-39 failed logins from %s count for %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
