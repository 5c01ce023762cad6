import { WritError } from "../../core/errors.ts";
import { hubAddressesMax } from "./hub-address.ts";

export type GrpcAddress = { host: string; port: number };

/** The addresses of hubs' gRPC ports: one host:port, or several with commas. */
export function parseGrpcAddresses(text: string): GrpcAddress[] {
  const addresses = text.split(",").map((one) => parseAddress(one.trim()));
  if (addresses.length > hubAddressesMax) {
    const found = `${addresses.length} gRPC addresses were given`;
    throw new WritError("CONFIG_INVALID", `${found}; at most ${hubAddressesMax} are allowed`);
  }
  const names = addresses.map(({ host, port }) => `${host}:${port}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return addresses;
  throw new WritError("CONFIG_INVALID", `gRPC address ${twice} was given twice`);
}

/** An address such as hub.example:50051 or [::1]:50051. */
function parseAddress(text: string): GrpcAddress {
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/.exec(text) ?? [];
  if (host !== undefined && Number(port) > 0 && Number(port) < 65_536) return { host, port: Number(port) };
  throw new WritError(
    "CONFIG_INVALID",
    `gRPC address ${JSON.stringify(text)} is not allowed; use host:port, such as hub.example:50051`,
  );
}
