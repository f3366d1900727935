/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/discover.h"

#include "app/app.h"
#include "app/turn.h"
#include "auth/metadata.h"
#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"

static void
put_list(struct buf *b, const struct conf_list *list)
{
	size_t i;

	buf_putc(b, '[');
	for (i = 0; i < list->n; i++) {
		if (i > 0)
			buf_putc(b, ',');
		buf_jsons(b, list->item[i]);
	}
	buf_putc(b, ']');
}

void
discover_resource(struct turn *t)
{
	struct buf b;

	buf_init(&b, t->arena);
	buf_puts(&b, "{\"resource\":");
	buf_jsons(&b, t->conf->resource_url);
	buf_puts(&b, ",\"authorization_servers\":[");
	if (t->conf->issuer[0] != '\0')
		buf_jsons(&b, t->conf->issuer);
	buf_puts(&b, "],\"bearer_methods_supported\":[\"header\"],"
		     "\"scopes_supported\":");
	put_list(&b, &t->conf->scopes_supported);
	buf_putc(&b, '}');
	res_body(&t->res, 200, "application/json", b.data, b.len);
	t->event = "request.metadata";
}

int
discover_issuer(struct turn *t)
{
	const char *document;
	struct err e;
	size_t len;

	err_clear(&e);
	if (metadata_get(t->conf, t->app->fetch, t->app->db, t->arena,
		    &document, &len, &e) != 0)
		return turn_fail_err(t, FAULT_UPSTREAM, &e);
	res_body(&t->res, 200, "application/json", document, len);
	t->event = "request.metadata";
	return 0;
}
