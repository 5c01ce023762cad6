import { similarWord } from "../../runtime/settings/similar-word.ts";
import type { CliContext } from "../context.ts";
import { neutraliseLine } from "../terminal/terminal.ts";

/** Every variable of ours that any program here, or a client in another language, reads. A test compares it with the sources. */
export const knownVariables: ReadonlySet<string> = new Set(
  `
  WRIT_ADMIN_TOKEN
  WRIT_AGENT_LOG_DIR
  WRIT_AGENT_LOG_ROTATION_CHECK_INTERVAL_MINUTES
  WRIT_AGENT_LOG_ROTATION_MAX_FILES
  WRIT_AGENT_LOG_ROTATION_MAX_SIZE_MB
  WRIT_AGENT_STATE_DIR
  WRIT_ALERT_FROM
  WRIT_ALERT_TO
  WRIT_ALLOW_INSECURE
  WRIT_AUDIT_COLD_DAYS
  WRIT_AUDIT_HOT_DAYS
  WRIT_BACKOFF_SCALE
  WRIT_CA_FILE
  WRIT_CERT_FILE
  WRIT_CLIENT_CA
  WRIT_CONNECTIONS_PER_ADDRESS
  WRIT_CONNECTIONS_PER_CERTIFICATE
  WRIT_DATABASE_PASSWORD_FILE
  WRIT_DATABASE_URL
  WRIT_DEAD_LETTER_DAYS
  WRIT_DIGEST_AT
  WRIT_DRAIN_MS
  WRIT_EVENT_STREAMS_MAX
  WRIT_FILE_RETENTION_DAYS
  WRIT_FRAMES
  WRIT_GRPC_ADDR
  WRIT_GRPC_PORT
  WRIT_HOME
  WRIT_HOST
  WRIT_HUB_AWAY_MS
  WRIT_HUB_URL
  WRIT_JOB_LOGS_DIR
  WRIT_JOB_RETENTION_DAYS
  WRIT_KEYS_DIR
  WRIT_KEY_FILE
  WRIT_LEASE_MS
  WRIT_LOG_LEVEL
  WRIT_MAX_OUTPUT_BYTES
  WRIT_MAX_STORAGE_BYTES
  WRIT_MCP
  WRIT_MQTT_CA_FILE
  WRIT_MQTT_HMAC_KEY_FILE
  WRIT_MQTT_PASSWORD_FILE
  WRIT_MQTT_PLAINTEXT
  WRIT_MQTT_URL
  WRIT_MQTT_VERSION
  WRIT_OUTPUTS_DIR
  WRIT_OUTPUT_STREAMS_MAX
  WRIT_PLAINTEXT
  WRIT_PUBLIC_EVENTS
  WRIT_PUBLIC_URL
  WRIT_REAPER_INTERVAL_MS
  WRIT_S3_ACCESS_KEY
  WRIT_S3_BUCKET
  WRIT_S3_ENDPOINT
  WRIT_S3_PATH_STYLE
  WRIT_S3_PLAINTEXT
  WRIT_S3_REGION
  WRIT_S3_SECRET_KEY
  WRIT_S3_SECRET_KEY_FILE
  WRIT_SIGNING_KEYS_FILE
  WRIT_SMTP_URL
  WRIT_SOCKET
  WRIT_STOP_GRACE_MS
  WRIT_STREAM_CHUNK_BYTES
  WRIT_TELEGRAM_API_URL
  WRIT_TELEGRAM_BOT_TOKEN
  WRIT_TELEGRAM_CHAT_ID
  WRIT_TLS_CERT
  WRIT_TLS_KEY
  WRIT_TOKEN
  WRIT_TRUSTED_PROXIES
  WRIT_USER
  WRIT_WEBHOOK_HOSTS
  WRIT_WEBHOOK_SECRET
  WRIT_WEBHOOK_URL
  WRIT_WORKER_INACTIVE_MS
  WRIT_WORK_DIR
`
    .trim()
    .split(/\s+/),
);

/** A setting with a slip in its name would be ignored silently. Its value may be a secret, and is never shown. */
export function warnOfUnknownVariables({ env, stderr }: Pick<CliContext, "env" | "stderr">): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith("WRIT_") || knownVariables.has(name)) continue;
    const meant = similarWord(name, knownVariables);
    const advice = meant === undefined ? "" : `; did you mean ${meant}?`;
    stderr.write(`warning: ${neutraliseLine(name)} is no variable of Writ, and is ignored${advice}\n`);
  }
}
