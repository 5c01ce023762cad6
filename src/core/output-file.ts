/** A file that an attempt has put into storage, as it is reported, signed for, kept with the job and shown. */
export type OutputFile = {
  folder_id: string;
  /** The whole key inside the folder: the prefix of the job's output location is part of it. */
  object_key: string;
  /** 64 hex digits. */
  sha256: string;
  size: number;
};
