/* SPDX-License-Identifier: ISC */
/* What becomes validator.js: a class, taken by src/sandbox/checker.js. */
import "./url.mjs";
import { Validator } from "@cfworker/json-schema";

globalThis.__Validator = Validator;
