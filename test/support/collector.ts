import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type CollectedSpan = {
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string>;
  status?: { code: number; message: string };
};

export type Collector = {
  url: string;
  /** What it answers; 200 at first. */
  status: number;
  spans: CollectedSpan[];
  /** The headers and the text of each request, taken or not. */
  requests: { path: string; headers: Record<string, unknown>; text: string }[];
  stop(): Promise<void>;
};

type Attribute = { key: string; value: { stringValue?: string; intValue?: string } };
type Export = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: (Omit<CollectedSpan, "attributes"> & { attributes: Attribute[] })[] }[];
  }[];
};

/** A collector for OTLP over HTTP, in this process. */
export async function startCollector(): Promise<Collector> {
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString();
    collector.requests.push({ path: request.url ?? "", headers: request.headers, text });
    if (collector.status === 200) collector.spans.push(...spansIn(JSON.parse(text) as Export));
    response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    status: 200,
    spans: [],
    requests: [],
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

function spansIn({ resourceSpans }: Export): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = textsOf(resource.attributes)["service.name"] ?? "";
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ ...span, service, attributes: textsOf(span.attributes) })),
    );
  });
}

function textsOf(attributes: Attribute[]): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? ""]),
  );
}
