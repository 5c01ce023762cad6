import type { Http2ServerResponse } from "node:http2";

/**
 * Text as gRPC encodes it in `grpc-message`: only non-ASCII characters and the percent sign are encoded. Some clients
 * decode no more than that, and would show a colon as %3A.
 */
export function statusMessage(text: string): string {
  let encoded = "";
  for (const byte of Buffer.from(text)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** The framework encodes every punctuation mark; its trailers are rewritten on the way. */
export function withPlainStatus(response: Http2ServerResponse): Http2ServerResponse {
  const addTrailers = response.addTrailers.bind(response);
  response.addTrailers = (trailers) => {
    const message = trailers["grpc-message"];
    if (typeof message !== "string") return addTrailers(trailers);
    addTrailers({ ...trailers, "grpc-message": statusMessage(decodeURIComponent(message)) });
  };
  return response;
}
