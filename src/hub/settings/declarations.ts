import { isIP } from "node:net";
import { deadLetterDaysDefault } from "../../core/retention.ts";
import { allowanceHelp, parseAllowance } from "../../mcp/allowance.ts";
import { parseAllowedHost } from "../../runtime/guarded-fetch/allowed-host.ts";
import { brokerUrlHelp, parseBrokerUrl } from "../../runtime/mqtt/broker-address.ts";
import { boolean, integer, number, oneOf, parser, text } from "../../runtime/settings/settings.ts";
import { otlpEndpoint } from "../../runtime/telemetry/telemetry-settings.ts";
import { signingKey } from "./signing-key-setting.ts";

const mailAddresses = text({
  pattern: /^[^\s@,]+@[^\s@,]+(?:\s*,\s*[^\s@,]+@[^\s@,]+)*$/,
  allowed: "a mail address, or several separated by commas",
});
const addresses = parser("IP addresses separated by commas, such as 127.0.0.1,10.0.0.5", (value) =>
  typeof value === "string" && value.split(",").every((one) => isIP(one.trim()) !== 0) ? value : undefined,
);
const dayCount = integer({ min: 1, max: 36_500 });

/**
 * Every setting of the hub. A flag overrides the environment, which overrides writ.yaml, which overrides the default.
 */
export const declarations = {
  host: { name: "WRIT_HOST", parse: text(), default: "127.0.0.1" },
  port: { name: "PORT", parse: integer({ min: 0, max: 65_535 }), default: 3000 },
  grpcPort: { name: "WRIT_GRPC_PORT", parse: integer({ min: 0, max: 65_535 }), default: 50_051 },
  publicUrl: {
    name: "WRIT_PUBLIC_URL",
    parse: text({ pattern: /^https?:\/\//, allowed: "an http(s) address" }),
    default: null,
  },
  tlsCert: { name: "WRIT_TLS_CERT", parse: text(), default: null },
  tlsKey: { name: "WRIT_TLS_KEY", parse: text(), default: null },
  plaintext: { name: "WRIT_PLAINTEXT", parse: boolean(), default: false },
  trustedProxies: { name: "WRIT_TRUSTED_PROXIES", parse: addresses, default: null },
  sqlitePath: { name: "SQLITE_PATH", parse: text(), default: null },
  databaseUrl: {
    name: "WRIT_DATABASE_URL",
    parse: text({
      pattern: /^postgres(?:ql)?:\/\/\S+$/,
      allowed: "an address such as postgres://user:password@host/database, with %20 for each space",
    }),
    default: null,
    isSecret: true,
  },
  databasePasswordFile: { name: "WRIT_DATABASE_PASSWORD_FILE", parse: text(), default: null },
  adminToken: {
    name: "WRIT_ADMIN_TOKEN",
    key: null,
    parse: text({
      pattern: /^sk_admin_[A-Za-z0-9_-]{24,}$/,
      allowed: "sk_admin_ followed by at least 24 letters, digits, _ or -",
    }),
    default: null,
    isSecret: true,
  },
  signingKeyPem: {
    name: "JOB_SIGNING_PRIVATE_KEY",
    key: null,
    parse: signingKey,
    default: null,
    isSecret: true,
  },
  keysDir: { name: "WRIT_KEYS_DIR", parse: text(), default: null },
  leaseMs: { name: "WRIT_LEASE_MS", parse: integer({ min: 1000, max: 3_600_000 }), default: 60_000 },
  reaperIntervalMs: {
    name: "WRIT_REAPER_INTERVAL_MS",
    parse: integer({ min: 100, max: 60_000 }),
    default: 15_000,
  },
  workerInactiveMs: {
    name: "WRIT_WORKER_INACTIVE_MS",
    parse: integer({ min: 1000, max: 86_400_000 }),
    default: 120_000,
  },
  backoffScale: { name: "WRIT_BACKOFF_SCALE", parse: number({ min: 0, max: 100 }), default: 1 },
  maxOutputBytes: {
    name: "WRIT_MAX_OUTPUT_BYTES",
    parse: integer({ min: 1024, max: Number.MAX_SAFE_INTEGER }),
    default: 1024 ** 3,
  },
  streamChunkBytes: {
    name: "WRIT_STREAM_CHUNK_BYTES",
    parse: integer({ min: 1024, max: 1024 ** 2 }),
    default: 32_768,
  },
  eventStreamsMax: {
    name: "WRIT_EVENT_STREAMS_MAX",
    parse: integer({ min: 1, max: 100_000 }),
    default: 100,
  },
  outputStreamsMax: {
    name: "WRIT_OUTPUT_STREAMS_MAX",
    parse: integer({ min: 1, max: 100_000 }),
    default: 256,
  },
  connectionsPerAddress: {
    name: "WRIT_CONNECTIONS_PER_ADDRESS",
    parse: integer({ min: 1, max: 10_000 }),
    default: 2_000,
  },
  connectionsPerCertificate: {
    name: "WRIT_CONNECTIONS_PER_CERTIFICATE",
    parse: integer({ min: 1, max: 10_000 }),
    default: 500,
  },
  deadLetterDays: { name: "WRIT_DEAD_LETTER_DAYS", parse: dayCount, default: deadLetterDaysDefault },
  auditHotDays: { name: "WRIT_AUDIT_HOT_DAYS", parse: dayCount, default: 7 },
  auditColdDays: { name: "WRIT_AUDIT_COLD_DAYS", parse: dayCount, default: 365 },
  jobRetentionDays: { name: "WRIT_JOB_RETENTION_DAYS", parse: dayCount, default: 30 },
  fileRetentionDays: { name: "WRIT_FILE_RETENTION_DAYS", parse: dayCount, default: 30 },
  maxStorageBytes: {
    name: "WRIT_MAX_STORAGE_BYTES",
    parse: integer({ min: 1024 ** 2, max: Number.MAX_SAFE_INTEGER }),
    default: null,
  },
  outputsDir: { name: "WRIT_OUTPUTS_DIR", parse: text(), default: null },
  s3Endpoint: {
    name: "WRIT_S3_ENDPOINT",
    parse: text({ pattern: /^https?:\/\/[^\s?#]+$/, allowed: "an http(s) address" }),
    default: null,
  },
  s3Bucket: {
    name: "WRIT_S3_BUCKET",
    parse: text({ pattern: /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, allowed: "the name of a bucket" }),
    default: null,
  },
  s3Region: {
    name: "WRIT_S3_REGION",
    parse: text({ pattern: /^[A-Za-z0-9-]{1,50}$/, allowed: "the name of a region" }),
    default: "us-east-1",
  },
  s3AccessKey: { name: "WRIT_S3_ACCESS_KEY", parse: text(), default: null },
  s3SecretKey: { name: "WRIT_S3_SECRET_KEY", parse: text(), default: null, isSecret: true },
  s3SecretKeyFile: { name: "WRIT_S3_SECRET_KEY_FILE", parse: text(), default: null },
  s3PathStyle: { name: "WRIT_S3_PATH_STYLE", parse: boolean(), default: true },
  s3Plaintext: { name: "WRIT_S3_PLAINTEXT", parse: boolean(), default: false },
  otlpEndpoint: { name: "OTEL_EXPORTER_OTLP_ENDPOINT", parse: otlpEndpoint, default: null },
  otlpHeaders: {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    key: null,
    parse: text(),
    default: null,
    isSecret: true,
  },
  mqttUrl: {
    name: "WRIT_MQTT_URL",
    parse: parser(brokerUrlHelp, (value) =>
      typeof value === "string" && parseBrokerUrl(value) !== "not an address" ? value : undefined,
    ),
    default: null,
  },
  mqttPasswordFile: { name: "WRIT_MQTT_PASSWORD_FILE", parse: text(), default: null },
  mqttCaFile: { name: "WRIT_MQTT_CA_FILE", parse: text(), default: null },
  mqttHmacKeyFile: { name: "WRIT_MQTT_HMAC_KEY_FILE", parse: text(), default: null },
  mqttVersion: { name: "WRIT_MQTT_VERSION", parse: oneOf(["3.1.1", "5"]), default: "3.1.1" },
  mqttPlaintext: { name: "WRIT_MQTT_PLAINTEXT", parse: boolean(), default: false },
  clientCa: { name: "WRIT_CLIENT_CA", parse: text(), default: null },
  telegramBotToken: {
    name: "WRIT_TELEGRAM_BOT_TOKEN",
    parse: text({ pattern: /^[A-Za-z0-9:_-]{8,200}$/, allowed: "the token of a Telegram bot" }),
    default: null,
    isSecret: true,
  },
  telegramChatId: {
    name: "WRIT_TELEGRAM_CHAT_ID",
    parse: text({ pattern: /^(?:-?\d{1,20}|@\w{4,64})$/, allowed: "the id of a chat, or @channel" }),
    default: null,
  },
  telegramApiUrl: {
    name: "WRIT_TELEGRAM_API_URL",
    parse: text({ pattern: /^https?:\/\/\S+$/, allowed: "an http(s) address" }),
    default: "https://api.telegram.org",
  },
  smtpUrl: {
    name: "WRIT_SMTP_URL",
    parse: text({ pattern: /^smtps?:\/\/\S+$/, allowed: "smtp(s)://user:password@host:port" }),
    default: null,
    isSecret: true,
  },
  alertFrom: { name: "WRIT_ALERT_FROM", parse: mailAddresses, default: null },
  alertTo: { name: "WRIT_ALERT_TO", parse: mailAddresses, default: null },
  digestAt: {
    name: "WRIT_DIGEST_AT",
    parse: text({ pattern: /^(?:[01]\d|2[0-3]):[0-5]\d$/, allowed: "a time of day such as 08:00" }),
    default: "08:00",
  },
  webhookUrl: {
    name: "WRIT_WEBHOOK_URL",
    parse: text({ pattern: /^https?:\/\/\S+$/, allowed: "an http(s) address" }),
    default: null,
  },
  webhookSecret: {
    name: "WRIT_WEBHOOK_SECRET",
    parse: text({ pattern: /^.{16,}$/, allowed: "at least 16 characters" }),
    default: null,
    isSecret: true,
  },
  webhookHosts: {
    name: "WRIT_WEBHOOK_HOSTS",
    parse: parser("hosts separated by commas, such as ci.example,10.0.0.5:8080", (value) =>
      typeof value === "string" && value.split(",").every((one) => parseAllowedHost(one.trim()) !== null)
        ? value
        : undefined,
    ),
    default: null,
  },
  mcp: {
    name: "WRIT_MCP",
    parse: parser(`read, or ${allowanceHelp}`, (value) =>
      typeof value === "string" && (value === "read" || parseAllowance(value) !== undefined)
        ? value
        : undefined,
    ),
    default: null,
  },
  frames: { name: "WRIT_FRAMES", parse: boolean(), default: true },
  publicEvents: { name: "WRIT_PUBLIC_EVENTS", parse: boolean(), default: false },
  logLevel: {
    name: "WRIT_LOG_LEVEL",
    parse: oneOf(["trace", "debug", "info", "warn", "error"]),
    default: "info",
  },
} as const;
