/* SPDX-License-Identifier: ISC */
/*
 * As much of URL as the validator needs to give names to parts of a schema;
 * the engine has none, and nothing is ever fetched.
 */
globalThis.URL = class {
	#body;
	#hash = "";

	constructor(text, base)
	{
		const at = text.indexOf("#");
		let body = at < 0 ? text : text.slice(0, at);
		if (!/^[a-z][a-z0-9+.-]*:/i.test(body)) {
			const from = String(base).replace(/#[^]*$/, "");
			body = body === "" ? from
				: from.replace(/[^/]*$/, "") + body;
		}
		this.#body = body;
		this.hash = at < 0 ? "" : text.slice(at);
	}

	get hash()
	{
		return this.#hash;
	}

	set hash(v)
	{
		v = v[0] === "#" ? v.slice(1) : v;
		try {
			v = decodeURI(v);
		} catch {
			/* not encoded, then */
		}
		this.#hash = v === "" ? "" : "#" + encodeURI(v);
	}

	get href()
	{
		return this.#body + this.#hash;
	}
};
