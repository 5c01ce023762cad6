import { expect, test } from "vitest";
import { addressProblem } from "./address-problem.ts";

test.each([
  "1.1.1.1",
  "93.184.216.34",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.1",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450:4001:80b::200e",
  "2001:200::1",
])("%s is public", (address) => {
  expect(addressProblem(address)).toBeNull();
});

test.each([
  ["127.0.0.1", "loopback"],
  ["127.255.255.255", "loopback"],
  ["0.0.0.0", "this host"],
  ["0.1.2.3", "this host"],
  ["10.0.0.1", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["192.168.1.1", "private"],
  ["168.63.129.16", "a cloud's own"],
  ["192.0.0.192", "reserved"],
  ["192.88.99.1", "6to4"],
  ["198.18.0.1", "benchmarks"],
  ["203.0.113.9", "documentation"],
  ["224.0.0.1", "multicast"],
  ["255.255.255.255", "reserved"],
  ["::", "not public"],
  ["::1", "loopback"],
  ["::127.0.0.1", "not public"],
  ["fec0::1", "not public"],
  ["ff02::1", "multicast"],
  ["2001:db8::1", "documentation"],
  ["3fff::1", "documentation"],
  ["5f00::1", "not public"],
  ["fe80::1%lo", "not public"],
  ["2606:4700::5efe:7f00:1", "ISATAP"],
  ["2606:4700::200:5efe:a9fe:a9fe", "ISATAP"],
  ["localhost", "not public"],
])("%s is refused: %s", (address, what) => {
  expect(addressProblem(address)).toContain(what);
});

test.each([
  ["169.254.169.254", "link-local"],
  ["::ffff:a9fe:a9fe", "IPv4 address in another form"],
  ["::ffff:169.254.169.254", "IPv4 address in another form"],
  ["2002:a9fe:a9fe::", "6to4"],
  ["64:ff9b::a9fe:a9fe", "NAT64"],
  ["64:ff9b::169.254.169.254", "NAT64"],
  ["64:ff9b:1::a9fe:a9fe", "NAT64"],
  ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"],
  ["100.64.0.1", "shared by customers"],
  ["100.100.100.200", "shared by customers"],
  ["100.127.255.255", "shared by customers"],
  ["fe80::1", "link-local"],
  ["febf::1", "link-local"],
  ["fc00::1", "private"],
  ["fd00:ec2::254", "private"],
])("U-02: %s is refused by its number: %s", (address, what) => {
  expect(addressProblem(address)).toContain(what);
});
