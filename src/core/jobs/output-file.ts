/** A file that an attempt has put into storage, as it is reported, signed, stored and shown. */
export type OutputFile = {
  folder_id: string;
  /** The complete key in the folder, including the prefix of the job's output location. */
  object_key: string;
  /** 64 hex digits. */
  sha256: string;
  size: number;
};
