import type { S3Settings } from "../../objects/s3/s3-settings.ts";
import { isLoopback } from "../../runtime/hubs/hub-address.ts";
import { readSecret, refusedSetting } from "./secret-setting.ts";
import type { HubSettings } from "./settings.ts";

type S3Fields = Pick<
  HubSettings,
  | "s3Endpoint"
  | "s3Bucket"
  | "s3Region"
  | "s3AccessKey"
  | "s3SecretKey"
  | "s3SecretKeyFile"
  | "s3PathStyle"
  | "s3Plaintext"
>;

/** Requires all settings of the object store or none: otherwise the first file would reveal the missing half. */
export function checkS3Settings(fields: S3Fields): void {
  const secret = fields.s3SecretKey ?? fields.s3SecretKeyFile;
  const parts = {
    WRIT_S3_ENDPOINT: fields.s3Endpoint,
    WRIT_S3_BUCKET: fields.s3Bucket,
    WRIT_S3_ACCESS_KEY: fields.s3AccessKey,
    "WRIT_S3_SECRET_KEY or WRIT_S3_SECRET_KEY_FILE": secret,
  };
  const names = Object.entries(parts);
  const missing = names.filter(([, value]) => value === null).map(([name]) => name);
  if (missing.length === names.length) return;
  if (missing.length > 0) {
    const set = names.filter(([, value]) => value !== null).map(([name]) => name);
    throw refusedSetting(
      missing[0]!,
      `${set.join(" and ")} set without ${missing.join(" and ")}; set all of them, or none`,
    );
  }
  if (fields.s3SecretKey !== null && fields.s3SecretKeyFile !== null) {
    throw refusedSetting(
      "WRIT_S3_SECRET_KEY_FILE",
      "WRIT_S3_SECRET_KEY and WRIT_S3_SECRET_KEY_FILE are both set; set one",
    );
  }
  const { protocol, hostname } = new URL(fields.s3Endpoint!);
  if (protocol === "https:" || isLoopback(hostname) || fields.s3Plaintext) return;
  throw refusedSetting(
    "WRIT_S3_ENDPOINT",
    `WRIT_S3_ENDPOINT: ${fields.s3Endpoint} would send files unencrypted; use https, or set WRIT_S3_PLAINTEXT=true`,
  );
}

/** Null if files are kept in the home. */
export async function s3SettingsOf(fields: S3Fields): Promise<S3Settings | null> {
  const { s3Endpoint: endpoint, s3Bucket: bucket, s3AccessKey: accessKey } = fields;
  if (endpoint === null || bucket === null || accessKey === null) return null;
  const secretKey =
    fields.s3SecretKey ?? (await readSecret("WRIT_S3_SECRET_KEY_FILE", fields.s3SecretKeyFile!));
  return { endpoint, bucket, accessKey, secretKey, region: fields.s3Region, pathStyle: fields.s3PathStyle };
}
