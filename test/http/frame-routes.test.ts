import { beforeAll, describe, expect, test } from "vitest";
import { errorOf } from "../support/call-http.ts";
import { lastSeq, readEvents } from "../support/database.ts";
import { FrameClient } from "../support/frame-client.ts";
import { stillEnv } from "../support/hub.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";
import { type Example, examples, type World } from "./route-examples.ts";
import { routeNames, routeOf, send } from "./send-example.ts";

/** Every route, in a frame and over HTTP: one place decides, so both are answered alike. */
const hub = memoryHubForAll(stillEnv);
const world: World = { hub, tokens: tokensOf(hub) };
let client: FrameClient;
let addresses = 0;

beforeAll(async () => {
  client = await FrameClient.open(hub, hub.admin);
});

describe.each(routeNames)("%s", (name) => {
  const route = routeOf(name);
  const isStreamed =
    route.bodyKind === "stream" || Object.values(route.answers).some((row) => row?.type !== undefined);

  test("is refused alike without a valid token, and the same is recorded", async () => {
    if (route.who === "open" || route.who === "signed URL" || isStreamed) return;
    const example = await examples[name](world);
    const seq = lastSeq(hub.home);
    // Of one address only so many failed logins are looked at in a minute.
    const from = `127.77.0.${++addresses}`;
    const stranger = await FrameClient.open(hub, hub.admin, { from });
    const overHttp = await send(hub, name, example, { token: "sk_user_nobody", from });
    expect(await framed(stranger, name, { ...example, token: "sk_user_nobody" })).toEqual(essence(overHttp));
    const [first, second] = readEvents(hub.home, seq).filter(({ event }) => event === "LOGIN_FAILED");
    expect(second?.origin).toEqual(first?.origin);
  });

  test("is refused alike to roles that it is not for, and with a field too many", async () => {
    if (route.who === "signed URL" || isStreamed) return;
    const example = await examples[name](world);
    for (const role of ["user", "worker", "viewer"] as const) {
      if (route.who === "open" || route.who.includes(role as never)) continue;
      const { token } = await issueToken(hub, { role });
      const inFrame = await framed(client, name, { ...example, token });
      expect(inFrame).toEqual(essence(await send(hub, name, example, { token })));
    }
    if (route.body === undefined || route.bodyKind !== undefined) return;
    const change = { body: { ...(example.body as object), surprise: 1 } };
    const overHttp = await send(hub, name, example, change);
    expect(await framed(client, name, { ...example, ...change })).toEqual(essence(overHttp));
  });

  test("serves its example in a frame, or says that it is served over HTTP", async () => {
    const example = await examples[name](world);
    const seq = lastSeq(hub.home);
    const { status, code } = await framed(client, name, example);
    if (isStreamed) {
      expect({ status, code }).toEqual({ status: 421, code: "NOT_IN_FRAMES" });
      expect(readEvents(hub.home, seq)).toEqual([]);
    } else if (name === "receiveDelivery") {
      // Its sender speaks HTTP: a frame carries none of the headers in which other programs sign.
      expect(status).toBe(401);
    } else expect(status).toBeLessThan(400);
  });
});

/** A request of an example in a frame. Of the answer, what does not differ between two requests. */
async function framed(via: FrameClient, name: (typeof routeNames)[number], example: Example) {
  const { method, path } = routeOf(name);
  const filled = path.replaceAll(/:(\w+)/g, (_, part: string) =>
    encodeURIComponent(example.params?.[part] ?? ""),
  );
  const search = new URLSearchParams(example.query).toString();
  const isBytes = example.body instanceof Uint8Array;
  const headers = {
    ...(example.token === hub.admin ? {} : { authorization: `Bearer ${example.token}` }),
    ...(isBytes ? { "content-type": "application/octet-stream" } : {}),
    ...example.headers,
  };
  const lines = Object.entries(headers).map(([header, value]) => `\n${header}: ${value}`);
  const target = `/api/v1${filled}${search === "" ? "" : `?${search}`}`;
  const answer = await via.request(`${method} ${target}${lines.join("")}`, example.body);
  return essence(answer);
}

function essence({ status, text }: { status: number; text: string }) {
  if (status < 400) return { status };
  const { code, message } = errorOf(text);
  return { status, code, message };
}
