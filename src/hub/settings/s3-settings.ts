import type { S3Settings } from "../../objects/s3/s3-settings.ts";
import { isLoopback } from "../../runtime/hubs/hub-address.ts";
import { readSecret, refusedSetting } from "./secret-setting.ts";
import type { HubSettings } from "./settings.ts";

type Given = Pick<
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

/** What is needed of the object store is there, or nothing of it: half of it would be noticed with the first file. */
export function checkS3Settings(given: Given): void {
  const secret = given.s3SecretKey ?? given.s3SecretKeyFile;
  const parts = {
    WRIT_S3_ENDPOINT: given.s3Endpoint,
    WRIT_S3_BUCKET: given.s3Bucket,
    WRIT_S3_ACCESS_KEY: given.s3AccessKey,
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
  if (given.s3SecretKey !== null && given.s3SecretKeyFile !== null) {
    throw refusedSetting(
      "WRIT_S3_SECRET_KEY_FILE",
      "WRIT_S3_SECRET_KEY and WRIT_S3_SECRET_KEY_FILE are both set; set one",
    );
  }
  const { protocol, hostname } = new URL(given.s3Endpoint!);
  if (protocol === "https:" || isLoopback(hostname) || given.s3Plaintext) return;
  throw refusedSetting(
    "WRIT_S3_ENDPOINT",
    `WRIT_S3_ENDPOINT: ${given.s3Endpoint} would send files unencrypted; use https, or set WRIT_S3_PLAINTEXT=true`,
  );
}

/** Null if files are kept in the home. */
export async function s3SettingsOf(given: Given): Promise<S3Settings | null> {
  const { s3Endpoint: endpoint, s3Bucket: bucket, s3AccessKey: accessKey } = given;
  if (endpoint === null || bucket === null || accessKey === null) return null;
  const secretKey =
    given.s3SecretKey ?? (await readSecret("WRIT_S3_SECRET_KEY_FILE", given.s3SecretKeyFile!));
  return { endpoint, bucket, accessKey, secretKey, region: given.s3Region, pathStyle: given.s3PathStyle };
}
