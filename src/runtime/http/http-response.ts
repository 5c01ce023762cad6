import type { IncomingHttpHeaders } from "node:http";

export type HttpResponse = {
  status: number;
  /** A header by its name in lower case. */
  header: (name: string) => string | undefined;
  text: () => string;
};

export type HttpStream = Omit<HttpResponse, "text"> & { body: AsyncIterable<Buffer> };

/** A header that was sent several times is returned as one, as HTTP allows. */
export function headerReader(headers: IncomingHttpHeaders): HttpResponse["header"] {
  return (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
}
