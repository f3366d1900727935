/* SPDX-License-Identifier: ISC */
/* What becomes typescript.js: one function, taken by src/sandbox/prelude.js. */
import { transform } from "sucrase";

globalThis.__ts = (code, map) => transform(code, {
	transforms: ["typescript"],
	disableESTransforms: true,
	keepUnusedImports: true,
	...(map ? {
		filePath: "program.ts",
		sourceMapOptions: { compiledFilename: "program.js" },
	} : {}),
});
