/** The path of the socket on which Writ calls the program that it has started; undefined if somebody else has started it. */
export function socketOfWrit(): string | undefined {
  return process.env["WRIT_SOCKET"] || undefined;
}
