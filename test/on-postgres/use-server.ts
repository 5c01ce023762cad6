import { inject } from "vitest";
import { keepDatabasesOn } from "../support/home-database.ts";

keepDatabasesOn(inject("databaseServer"));
