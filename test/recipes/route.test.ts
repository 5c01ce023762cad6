import { afterAll, expect, test } from "vitest";
import { CheckoutCopy } from "./checkout-copy.ts";
import { readRecipe } from "./read-recipe.ts";

const copy = new CheckoutCopy(["src", "test", "package.json", "tsconfig.json"]);
afterAll(() => copy.remove());

const [row, useCase, handler, example, method] = readRecipe("route");

const handlers = "src/hub/http/handlers/admin-handlers.ts";
const checkTypes = () =>
  copy.checkTypes("src/hub/http/app.ts", "src/client/writ.ts", "test/http/route-examples.ts");

test("with its row alone, the type checker asks for a handler and for an example", async () => {
  copy.edit("src/contract/routes/admin-routes.ts", "  listWorkers: route({", `${row}  listWorkers: route({`);
  const complaints = await checkTypes();
  expect(complaints).toMatch(/^src\/hub\/http\/handlers\/admin-handlers\.ts.*countWorkers/m);
  expect(complaints).toMatch(/^test\/http\/route-examples\.ts.*countWorkers/m);
});

test("with the other steps it is content", async () => {
  copy.write("src/hub/use-cases/workers/count-workers.ts", useCase!);
  copy.edit(
    handlers,
    "import type { Identity }",
    'import { countWorkers } from "../../use-cases/workers/count-workers.ts";\nimport type { Identity }',
  );
  copy.edit(handlers, "  async listWorkers(", `${handler}\n  async listWorkers(`);
  copy.edit("test/http/route-examples.ts", "  listWorkers: async", `${example}  listWorkers: async`);
  copy.edit("src/client/writ.ts", "  async workers()", `${method}\n  async workers()`);
  expect(await checkTypes()).toBe("");
});

test("the hub serves the route, OpenAPI describes it, and the reference page shows it", async () => {
  const answers = await copy.run(`
    import { startMemoryHub } from "./test/support/memory-hub.ts";
    import { registerWorker } from "./test/support/jobs.ts";
    const hub = await startMemoryHub();
    await registerWorker(hub, { tags: ["gpu"] });
    await registerWorker(hub);
    const token = hub.admin;
    const count = await hub.call("GET", "/workers/count?tag=gpu", { token });
    const refusal = await hub.call("GET", "/workers/count?colour=red", { token });
    const openApi = await hub.call("GET", "//api/openapi.json");
    const reference = await hub.call("GET", "//api/docs");
    await hub.stop();
    console.log(JSON.stringify({
      count: count.json(),
      refusal: refusal.code,
      described: openApi.json().paths["/workers/count"].get.operationId,
      shown: reference.text.includes('id="countWorkers"'),
    }));
  `);
  expect(answers).toEqual({
    count: { count: 1 },
    refusal: "INVALID_ARGUMENT",
    described: "countWorkers",
    shown: true,
  });
});
