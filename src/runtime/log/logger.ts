import { type Logger as PinoLogger, pino, stdSerializers } from "pino";
import { WritError } from "../../core/errors.ts";
import type { LogFormat, LogRecord } from "./log-format.ts";
import { redactFields, redactText } from "./redact.ts";
import { RotatingFile } from "./rotating-file.ts";

/** What our code asks of a logger: pino has it, and a caller may give one of their own. */
export type Logger = Readonly<Record<LogMethodName, LogMethod>> & {
  child(fields: Record<string, unknown>): Logger;
  isLevelEnabled(level: string): boolean;
};
type LogMethodName = "trace" | "debug" | "info" | "warn" | "error" | "fatal";
type LogMethod = {
  (fields: object, message?: string): void;
  (message: string): void;
};
type LogLevel = LogMethodName | "silent";

type LoggerOptions = {
  file: string;
  level: LogLevel;
  /** Default: 10 MiB. */
  maxSizeBytes?: number;
  /** How many rotated files are kept (default: 5). */
  keep?: number;
  /** Default: JSON. */
  format?: LogFormat | undefined;
  /** Also called with each warning and error, as a sentence. */
  onWarning?: ((sentence: string) => void) | undefined;
};

const fileBytesDefault = 10 * 1024 * 1024;
const filesKept = 5;

/**
 * A logger that writes lines into a private, rotating file, as JSON or in the given format. `close()` writes what is still
 * in memory.
 */
export function openLogger(options: LoggerOptions): Logger & { close(): void } {
  const { onWarning, format } = options;
  const formatted = (line: string): string =>
    format === undefined ? line : format(JSON.parse(line) as LogRecord);
  const file = new RotatingFile({
    file: options.file,
    sizeBytesMax: options.maxSizeBytes ?? fileBytesDefault,
    keep: options.keep ?? filesKept,
    formatted,
  });
  const logger = createLogger(options.level, (line) => {
    file.write(formatted(line));
    if (onWarning !== undefined && warning.test(line)) onWarning(sentenceIn(line));
  });
  return Object.assign(logger, { close: () => file.close() });
}

/** A logger for a program that has none: warnings and errors as plain sentences, one at a time. */
export function warningLogger(onWarning: (sentence: string) => void): Logger {
  return createLogger("warn", (line) => onWarning(sentenceIn(line)));
}

function createLogger(level: LogLevel, write: (line: string) => void): Logger {
  const logger = pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: hideSecrets,
      },
      serializers: { err: showError, error: showError },
    },
    // Tokens are hidden by field name above and by their shape here, because a message may contain one.
    { write: (line: string) => write(redactText(line)) },
  );
  hideSecretsOfChildren(logger);
  return logger;
}

const warning = /^\{"level":"(?:warn|error|fatal)"/;

/** What a line of the log says, without the fields that are for programs. */
function sentenceIn(line: string): string {
  const { msg = "", err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
  return err?.message === undefined || err.message === msg ? msg : `${msg} (${err.message})`;
}

export const silentLogger: Logger = pino({ level: "silent" });

/** Pino formats the fields of a call, but not those of a child logger; children inherit this. */
function hideSecretsOfChildren(logger: PinoLogger): void {
  const makeChild: (this: PinoLogger, bindings: pino.Bindings, options?: object) => unknown = logger.child;
  logger.child = function <L extends string = never>(
    this: PinoLogger,
    bindings: pino.Bindings,
    options?: pino.ChildLoggerOptions<L>,
  ): PinoLogger<L> {
    return makeChild.call(this, hideSecrets(bindings), options) as PinoLogger<L>;
  };
}

function hideSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  return redactFields(fields) as Record<string, unknown>;
}

/** An expected error is explained by its code and message; a place in a bundle explains nothing. */
function showError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { stack, ...rest } = stdSerializers.err(error);
  return redactFields(error instanceof WritError ? rest : { ...rest, stack });
}
