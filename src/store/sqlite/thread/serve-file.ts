import type { MessagePort } from "node:worker_threads";
import { readOwnFileForm } from "../forms/file-form.ts";
import { loadDriver } from "../forms/load-form.ts";
import { refuseToOpen, serve } from "./serve.ts";
import type { WriterSettings } from "./wire.ts";

/** Serves a database file by the driver of its form; a new file gets the form that is asked for. Why: ADR 0116. */
export async function serveFile(port: MessagePort, settings: WriterSettings): Promise<void> {
  const load = async () => loadDriver(readOwnFileForm(settings.path) ?? settings.newForm);
  const driver = await load().catch((error: unknown) => refuseToOpen(port, error));
  if (driver !== null) await serve(driver, port, settings);
}
