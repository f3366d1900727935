/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/doctor.h"

#include "admin/authcheck.h"
#include "admin/dbcheck.h"
#include "admin/keycheck.h"
#include "admin/report.h"
#include "admin/scriptcheck.h"
#include "admin/webcheck.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/fetch.h"
#include "store/db.h"

enum { WORKERS_MAX = 100000 };

/* As the responder reads it: what it requires is required here. */
static bool
conf_check(struct admin *ad)
{
	const char *file = conf_file(ad->file);
	struct conf *conf;
	struct err e = { 0 };

	if (conf_load(ad->arena, ad->file, CONF_FOR_FCGI, &conf, &e) != 0) {
		report_fail("configuration", "see mcp-fcgi.conf(5)", "%s",
			e.detail);
		return false;
	}
	ad->conf = conf;
	if (access(file, F_OK) == 0)
		report_pass("configuration", "%s", file);
	else
		report_warn("configuration", NULL,
			"from the environment alone: no file %s", file);
	return true;
}

static void
sandbox_check(struct admin *ad)
{
	static const char CODE[] = "return 1+1";
	const struct conf *conf = ad->conf;
	const struct sandbox_limits limits = scriptcheck_limits(conf);
	const char *remedy = "is the whole of mcp-fcgi installed, and does "
			     "key \"sandbox\" say where?";
	struct sandbox_result *r;
	struct err e = { 0 };

	if (sandbox_run(&limits, CODE, strlen(CODE), -1, ad->arena, &r, &e) !=
		0)
		report_fail(
			"sandbox", remedy, "%s: %s", conf->sandbox, e.detail);
	else if (r->status != SANDBOX_COMPLETED || r->json_len != 1 ||
		 r->json[0] != '2')
		report_fail("sandbox", remedy, "%s: %s%s%s", conf->sandbox,
			sandbox_status_name(r->status),
			r->detail != NULL ? ": " : "",
			r->detail != NULL ? r->detail : "");
	else
		report_pass(
			"sandbox", "1+1 is 2, in %" PRId64 " ms", r->wall_ms);
}

static void
outside_check(struct admin *ad, struct db *db)
{
	const struct fetch_options options = {
		.timeout_ms = ad->conf->fetch_timeout_ms,
		.max_bytes = ad->conf->fetch_max_bytes,
		.allow = &ad->conf->fetch_allow,
	};
	struct fetch *fetch;
	struct err e = { 0 };

	if (fetch_new(&options, &fetch, &e) != 0) {
		report_fail("fetch", "see fetch_allow in mcp-fcgi.conf(5)",
			"%s", e.detail);
		return;
	}
	authcheck_keys(ad, db, fetch);
	authcheck_membership(ad, fetch);
	fetch_free(fetch);
}

int
doctor_run(struct admin *ad, char **argv UNUSED, int n UNUSED, struct err *e)
{
	int64_t workers = 0;
	struct db *db;
	bool is_usable;

	if ((ad->given & ADMIN_OPT_WORKERS) != 0 &&
		admin_number("--workers", ad->workers, 1, WORKERS_MAX, &workers,
			e) != 0)
		return -1;
	if (!conf_check(ad)) {
		ad->status = ADMIN_FAILED;
		return -1;
	}
	db = admin_db(ad, ad->conf->database, ADMIN_TIMEOUT_MS);
	is_usable = dbcheck_responder(ad, db, workers);
	if (is_usable) {
		ad->db = admin_db(
			ad, ad->conf->admin_database, ADMIN_TIMEOUT_MS);
		dbcheck_reaper(ad, ad->db);
	}
	outside_check(ad, is_usable ? db : NULL);
	keycheck_run(ad, ad->db);
	sandbox_check(ad);
	webcheck_run(ad, (ad->given & ADMIN_OPT_EXTERNAL) != 0);
	db_free(db);
	ad->status = ADMIN_FAILED;
	return report_fails() == 0 ? 0 : -1;
}
