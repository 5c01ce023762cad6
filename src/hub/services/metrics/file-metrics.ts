import { Counter, Gauge, type Registry } from "prom-client";
import type { ObjectStore } from "../../../store/object-store.ts";

/** Counters of uploads since the hub started. */
export function uploadCounters(registers: Registry[]) {
  return {
    uploads: new Counter({
      name: "writ_uploads_total",
      help: "Files that have arrived completely, by whether a user or a job has put them",
      labelNames: ["by"],
      registers,
    }),
    uploadedBytes: new Counter({
      name: "writ_uploaded_bytes_total",
      help: "The bytes of those files",
      registers,
    }),
  };
}

/** The present size of stored files. */
export function addFileGauge(
  { registry }: { registry: Registry },
  { store }: { store: Pick<ObjectStore, "listObjectUsage"> },
): void {
  new Gauge({
    name: "writ_file_bytes",
    help: "The bytes of all stored files, those that are still arriving included",
    registers: [registry],
    async collect() {
      const usage = await store.listObjectUsage();
      this.set(usage.reduce((sum, { bytes }) => sum + bytes, 0));
    },
  });
}
