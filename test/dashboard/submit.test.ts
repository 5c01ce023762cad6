import { expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations } from "./visit.ts";

browserSuite("submitting by the form", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);
  const shown = async (): Promise<JobView> => {
    const id = admin.page.url().split("/").at(-1)!;
    return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>();
  };

  test("O-30 shell syntax shows a warning, and a click adds sh -c", async () => {
    const { page } = admin;
    const type = freshName("shell");
    await page.goto(`${hub.url}/submit`);
    await page.getByLabel("Type").fill(type);
    const command = page.getByLabel("Command required");
    await command.fill("echo plain");
    expect(await page.getByText("No shell reads this command").count()).toBe(0);
    await command.fill("cat a.txt | wc -l > $OUT");
    await page.getByText("No shell reads this command: the program gets | > $OUT as written").waitFor();
    await page.getByRole("button", { name: "Run it with sh -c" }).click();
    expect(await command.inputValue()).toBe("sh -c 'cat a.txt | wc -l > $OUT'");
    expect(await page.getByText("No shell reads this command").count()).toBe(0);
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByRole("heading", { level: 1, name: type }).waitFor();
    expect((await shown()).run).toMatchObject({ argv: ["sh", "-c", "cat a.txt | wc -l > $OUT"] });
  });

  test("O-30 problems use the labels of the form, and the first wrong field has the focus", async () => {
    const { page } = admin;
    await page.goto(`${hub.url}/submit`);
    await page.getByLabel("Type").fill(freshName("wrong"));
    await page.getByLabel("Memory").fill("lots");
    await page.getByRole("button", { name: "Submit" }).click();
    const problems = page.getByRole("alert");
    await problems.getByText("Command is required").waitFor();
    expect(await problems.textContent()).toMatch(/Memory must be/);
    expect(await problems.textContent()).not.toMatch(/run\.argv|limits\.memory/);
    await expect
      .poll(() => page.evaluate("document.activeElement.getAttribute('placeholder')"))
      .toMatch(/python3/);
    await page.getByLabel("Command required").fill("true");
    await page.getByRole("button", { name: "Submit" }).click();
    await expect.poll(() => page.evaluate("document.activeElement.value")).toBe("lots");
  });

  test("an empty form says that type and command are required, and begins with the type", async () => {
    const { page } = admin;
    await page.goto(`${hub.url}/submit`);
    await page.getByRole("button", { name: "Submit" }).click();
    const problems = page.getByRole("alert");
    await problems.getByText("Command is required").waitFor();
    await problems.getByText("Type is required").waitFor();
    await expect
      .poll(() => page.evaluate("document.activeElement.getAttribute('placeholder')"))
      .toBe("image.resize");
  });

  test("O-30 a job is submitted for later, with a file, into the tenant that the form names", async () => {
    const { page } = admin;
    const type = freshName("later");
    await page.goto(`${hub.url}/submit`);
    await page.getByText("default", { exact: true }).waitFor();
    await page.getByText("Your token decides this, not the form").waitFor();
    await page.getByLabel("Type").fill(type);
    await page.getByLabel("Command required").fill("cat inputs/grüße.txt");
    await page.getByLabel("Not before").fill("2099-01-31T08:00");
    await page.getByLabel("Choose files").setInputFiles([
      { name: "grüße.txt", mimeType: "text/plain", buffer: Buffer.from("hello") },
      { name: "second.bin", mimeType: "application/octet-stream", buffer: Buffer.from([0, 1, 2]) },
    ]);
    await page.getByRole("button", { name: "Leave out second.bin" }).click();
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByRole("heading", { level: 1, name: type }).waitFor();
    const job = await shown();
    const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    const file = { path: "grüße.txt", folder_id: "uploads", object_key: sha256, sha256 };
    expect(job).toMatchObject({ tenant_id: "default", run: { inputs: [file] } });
    const startsAt = (await page.evaluate("Date.parse('2099-01-31T08:00')")) as number;
    expect(job).toMatchObject({ run_at: startsAt });
    const ask = [{ folderId: "uploads", objectKey: sha256, method: "HEAD" }];
    await hub.must("POST", "/files/presigned-urls", { token: hub.admin, body: ask });
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
