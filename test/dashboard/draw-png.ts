import { crc32, deflateSync } from "node:zlib";

/** A picture in PNG: a few waves, in colours that differ from the page's. */
export function drawPng({ width, height }: { width: number; height: number }): Buffer {
  const rows: Buffer[] = [];
  for (let y = 0; y < height; y++) {
    const row = Buffer.alloc(1 + width * 3);
    for (let x = 0; x < width; x++) row.set(colourAt(x / width, y / height), 1 + x * 3);
    rows.push(row);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits for each of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function colourAt(x: number, y: number): [number, number, number] {
  const hill = 0.5 + 0.22 * Math.sin(x * 7) + 0.1 * Math.sin(x * 19 + 1);
  const far = 0.35 + 0.12 * Math.sin(x * 4 + 2);
  if (y > hill) return [46, 92 + Math.round(60 * y), 84];
  return y > far ? [112, 150, 164] : [214, 226 - Math.round(30 * y), 232];
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, sum]);
}
