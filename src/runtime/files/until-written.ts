/**
 * Resolves when the reader of a sink has been given everything: a pipe takes 64 KiB at once, and what still waits in the
 * process is lost with it. It also resolves when the reader has gone.
 */
export function untilWritten(sink: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    sink.write("", () => resolve());
  });
}
