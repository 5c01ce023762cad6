import type { Command } from "commander";

/** The options that every command shares. They stand apart so that `--help` does not load a whole client. */
export function addConnectionOptions(program: Command): void {
  program
    .option("--home <dir>", "the hub's home (WRIT_HOME)")
    .option("--hub <url>", "the hub's address (WRIT_HUB_URL)")
    .option("--token <token>", "who you are (WRIT_TOKEN)")
    .option("--ca <file>", "the authority of the hub's certificate (WRIT_CA_FILE)")
    .option("--json", "print JSON, one object per line");
}

/** The further options of a program that also speaks gRPC. */
export function addCertificateOptions(program: Command): void {
  program
    .option("--grpc <address>", "the hub's gRPC address, host:port (WRIT_GRPC_ADDR)")
    .option("--user <name>", "whose certificate of the home to show (WRIT_USER)")
    .option("--cert <file>", "the certificate to show (WRIT_CERT_FILE)")
    .option("--key <file>", "its private key (WRIT_KEY_FILE)");
}
