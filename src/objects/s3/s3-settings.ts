/** Where an S3-compatible store is, and how to speak to it. */
export type S3Settings = {
  /** Without the bucket, such as `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: string;
  bucket: string;
  region: string;
  accessKey: string;
  secretKey: string;
  /** The bucket in the path, as most self-hosted stores want it, or else as the first part of the host name. */
  pathStyle: boolean;
};

/** The URL of an object, or of the bucket itself, without a signature. Every character that is not plain is escaped. */
export function objectUrl({ endpoint, bucket, pathStyle }: S3Settings, key: string): URL {
  const url = new URL(endpoint);
  const path = key.split("/").map(encodeURIComponent).join("/");
  const base = url.pathname.replace(/\/$/, "");
  // Not all stores sign the slash after a bucket alike.
  if (pathStyle) url.pathname = path === "" ? `${base}/${bucket}` : `${base}/${bucket}/${path}`;
  else {
    url.hostname = `${bucket}.${url.hostname}`;
    url.pathname = `${base}/${path}`;
  }
  return url;
}
