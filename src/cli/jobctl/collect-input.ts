/** All of an input, or null as soon as it has more than this many bytes. */
export async function collectInput(
  input: AsyncIterable<Buffer | string>,
  bytesMax: number,
): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk as string);
    size += bytes.length;
    if (size > bytesMax) return null;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
