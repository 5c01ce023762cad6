import { keepFilesIn } from "../support/home-database.ts";

keepFilesIn("frames");
