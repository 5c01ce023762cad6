/** Whether two HTTP addresses are of the same hub. All names of this machine's loopback are one. */
export function isSameHub(url: string, other: string | undefined): boolean {
  return other !== undefined && originOf(url) === originOf(other);
}

function originOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null
    ? url
    : parsed.origin.replace(/\/\/(?:localhost|\[::1\]|127\.0\.0\.1)/, "//loopback");
}
