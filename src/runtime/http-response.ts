import type { IncomingHttpHeaders } from "node:http";

export type HttpResponse = {
  status: number;
  /** A header by its name in lower case. */
  header: (name: string) => string | undefined;
  text: () => string;
};

export type HttpStream = Omit<HttpResponse, "text"> & { body: AsyncIterable<Buffer> };

/** A header that came several times is given as one, as HTTP allows it to be written. */
export function headerReader(headers: IncomingHttpHeaders): HttpResponse["header"] {
  return (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
}
