import { text } from "../settings/settings.ts";

/** The same for hub and worker, under the names that OpenTelemetry gives them. */
export const otlpEndpoint = text({ pattern: /^https?:\/\/[^\s?#]+$/, allowed: "an http(s) address" });
