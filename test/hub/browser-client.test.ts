import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { hubForAll, tokensOf } from "../support/use-hub.ts";
import type { visit } from "./browser-page.ts";

const hub = hubForAll();
const tokens = tokensOf(hub);

/** All of Node's that a page has too; everything else would be missed as it would be in a browser. */
const browserGlobals = { fetch, URLSearchParams, TextEncoder, TextDecoder };

test("a client for a browser is made of core, contract and zod alone, and calls a hub by fetch", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL("browser-page.ts", import.meta.url))],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "page",
    write: false,
    metafile: true,
  });
  const rooms = Object.keys(metafile.inputs).map((path) =>
    path.replace(/^(src\/\w+|node_modules\/\w+|test)\/.*$/, "$1"),
  );
  expect([...new Set(rooms)].sort()).toEqual(["node_modules/zod", "src/contract", "src/core", "test"]);

  const context = createContext({ ...browserGlobals });
  runInContext(outputFiles[0]!.text, context);
  const page = context["page"] as { visit: typeof visit };
  const seen = await page.visit({ url: hub.url, token: tokens.alice });
  expect({ ...seen, listed: [...seen.listed] }).toMatchObject({
    job: { type: "from.a.page", run: "handler", params: { n: 1.5 }, stdout: 0 },
    listed: [seen.job.id],
    cancelled: 204,
    refusal: "NOT_FOUND",
  });
});
