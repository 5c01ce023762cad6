const typeA = 1;
const typeAaaa = 28;
const [publicV4, publicV6] = ["93.184.216.34", "2606:2800:220:1::1"];

/** The records of the world that guard-world.ts makes, by name; `before` is how often the name was asked for already. */
function recordsOf(name: string, before: number): string[] {
  switch (name) {
    case "site.test":
      return [publicV4!];
    case "both.test":
      return [publicV4!, publicV6!];
    case "private.test":
      return ["10.0.0.1"];
    case "metadata.test":
      return ["169.254.169.254"];
    case "mixed.test":
      return [publicV4!, "127.0.0.1"];
    case "mixed6.test":
      return [publicV4!, "::1"];
    case "mapped.test":
      return [publicV4!, "::ffff:10.0.0.1"];
    // Public for the check, private for the second question before connecting.
    case "rebind.test":
      return before === 0 ? [publicV4!] : ["127.0.0.1"];
    default:
      return [];
  }
}

/** Answers one question as a name server does, with records that must not be kept (TTL 0). */
export function answerTo(message: Buffer, asked: readonly string[]): { name: string; answer: Buffer } {
  const labels: string[] = [];
  let at = 12;
  while (message[at]! > 0) {
    const length = message[at]!;
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  const host = labels.join(".");
  const type = message.readUInt16BE(at + 1);
  const name = `${type === typeA ? "A" : "AAAA"} ${host}`;
  const before = asked.filter((each) => each === name).length;
  const records = recordsOf(host, before).filter((address) => (type === typeAaaa) === address.includes(":"));
  const header = Buffer.from(message.subarray(0, 12));
  header.writeUInt16BE(records.length === 0 && type === typeA ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.fill(0, 8, 12);
  return { name, answer: Buffer.concat([header, message.subarray(12, at + 5), ...records.map(recordOf)]) };
}

function recordOf(address: string): Buffer {
  const data = address.includes(":") ? bytesOfV6(address) : Buffer.from(address.split(".").map(Number));
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(data.length === 4 ? typeA : typeAaaa, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function bytesOfV6(address: string): Buffer {
  const [head = "", tail = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const zeros = Array<string>(8 - groups(head).length - groups(tail).length).fill("0");
  const all = [...groups(head), ...zeros, ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}
