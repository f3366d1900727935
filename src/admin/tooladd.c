/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/tools.h"

#include "admin/scriptcheck.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "store/db.h"
#include "store/source.h"

enum {
	BODY_MAX = 900000,
	SCHEMA_MAX = 1 << 20,
	TITLE_MAX = 1024,
	DESCRIPTION_MAX = 65536,
	NAME_MAX_BYTES = 192
};

/* "source.name.more": *SOURCE is a copy of the first word. */
static int
path_split(struct admin *ad, const char *path, const char **source,
	const char **name, struct err *e)
{
	static const char WORD[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-";
	const char *dot = strchr(path, '.'), *p;
	size_t n;

	for (p = dot; p != NULL && *p == '.'; p += 1 + n)
		if ((n = strspn(p + 1, WORD)) == 0)
			break;
	if (p == NULL || *p != '\0' || strlen(dot + 1) > NAME_MAX_BYTES)
		return err_set(e, ERR_INVALID, NULL,
			"a tool's path is SOURCE.NAME; NAME has letters, "
			"digits, _, $ and -, and dots between");
	*source = arena_printf(ad->arena, "%.*s", (int)(dot - path), path);
	*name = dot + 1;
	return 0;
}

/* A schema from FILE, as it is there. */
static int
put_schema(struct admin *ad, struct buf *b, const char *member,
	const char *file, struct err *e)
{
	const struct cj_limits limits = { .depth_max = 128 };
	struct cJSON *v;
	size_t len;
	char *text;

	if (file == NULL)
		return 0;
	if (admin_read(ad, file, SCHEMA_MAX, &text, &len, e) != 0)
		return -1;
	if (cj_parse(ad->arena, text, len, &limits, &v, e) != 0) {
		e->kind = ERR_CONFLICT;
		return err_wrap(e, file);
	}
	if (!cj_is_object(v))
		return err_set(e, ERR_CONFLICT, NULL,
			"%s: a schema must be a JSON object", file);
	buf_printf(b, ",\"%s\":%s", member, text);
	return 0;
}

static void
put_text(struct buf *b, const char *member, const char *text)
{
	if (text == NULL)
		return;
	buf_printf(b, ",\"%s\":", member);
	buf_jsons(b, text);
}

/* The tool as source_tool_save takes it. */
static int
tool_build(struct admin *ad, const char *name, const char *file, struct buf *b,
	struct err *e)
{
	bool is_read_only = (ad->given & ADMIN_OPT_READ_ONLY) != 0;
	bool is_destructive = (ad->given & ADMIN_OPT_DESTRUCTIVE) != 0;
	size_t len;
	char *body;

	if (admin_read(ad, file, BODY_MAX, &body, &len, e) != 0)
		return -1;
	if (strspn(body, " \t\r\n") == len)
		return err_set(e, ERR_CONFLICT, NULL, "%s: there is no body",
			strcmp(file, "-") == 0 ? "standard input" : file);
	if (scriptcheck_run(ad, body, len, e) != 0)
		return err_wrap(
			e, strcmp(file, "-") == 0 ? "standard input" : file);
	buf_puts(b, "{\"name\":");
	buf_jsons(b, name);
	put_text(b, "title", ad->title);
	put_text(b, "description", ad->description);
	if (put_schema(ad, b, "input_schema", ad->input, e) != 0 ||
		put_schema(ad, b, "output_schema", ad->output, e) != 0)
		return -1;
	if (is_read_only)
		buf_puts(b, ",\"annotations\":{\"readOnlyHint\":true}");
	/* As for the tools of upstream servers: somebody is asked. */
	if (is_destructive)
		buf_puts(b, ",\"annotations\":{\"readOnlyHint\":false,"
			    "\"destructiveHint\":true},"
			    "\"needs_approval\":true");
	if ((ad->given & ADMIN_OPT_LISTED) != 0)
		buf_puts(b, ",\"is_listed\":true");
	buf_puts(b, ",\"definition\":{\"body\":");
	buf_jsons(b, body);
	buf_puts(b, "}}");
	return 0;
}

static int
options_check(const struct admin *ad, const char *file, struct err *e)
{
	if ((ad->given & ADMIN_OPT_READ_ONLY) != 0 &&
		(ad->given & ADMIN_OPT_DESTRUCTIVE) != 0)
		return err_set(e, ERR_INVALID, NULL,
			"--read-only or --destructive, not both");
	if ((ad->input != NULL) + (ad->output != NULL) > 0 &&
		strcmp(file, "-") == 0 &&
		((ad->input != NULL && strcmp(ad->input, "-") == 0) ||
			(ad->output != NULL && strcmp(ad->output, "-") == 0)))
		return err_set(e, ERR_INVALID, NULL,
			"standard input can be read once");
	if ((ad->title != NULL && admin_check_text("--title", ad->title,
					  TITLE_MAX, e) != 0) ||
		(ad->description != NULL &&
			admin_check_text("--description", ad->description,
				DESCRIPTION_MAX, e) != 0))
		return -1;
	return 0;
}

int
tools_add(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	static const bool YES = true;
	const char *source = NULL, *name = NULL;
	bool is_new, was_there;
	struct db_res r;
	struct buf b;

	buf_init(&b, ad->arena);
	if (path_split(ad, argv[1], &source, &name, e) != 0 ||
		options_check(ad, argv[2], e) != 0 ||
		tool_build(ad, name, argv[2], &b, e) != 0 ||
		admin_begin(ad, e) != 0 ||
		source_find(ad->db, ad->arena, argv[0], source, &r, e) != 0)
		return -1;
	if (r.n_rows == 0)
		return err_set(e, ERR_NOTFOUND, NULL,
			"no source %.64s in %.64s: mcp-admin source add "
			"script %.64s %.64s",
			source, argv[0], argv[0], source);
	if (strcmp(db_text(&r, 0, 1), "script") != 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"the tools of source %.64s are imported (%s)", source,
			db_text(&r, 0, 1));
	if (source_tool_save(ad->db, ad->arena, db_int(&r, 0, 0), b.data,
		    &is_new, e) != 0)
		return admin_refused(ad, e);
	/* A tool that is replaced stays as listed as it was. */
	if (!is_new && (ad->given & ADMIN_OPT_LISTED) != 0 &&
		source_tool_set(ad->db, ad->arena, argv[0], argv[1], &YES, NULL,
			&was_there, e) != 0)
		return -1;
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("tool %s %s", argv[1], is_new ? "added" : "replaced");
	return 0;
}
