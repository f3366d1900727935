/* SPDX-License-Identifier: ISC */
/*
 * report: the lines of mcp-admin doctor on stdout:
 *
 *	PASS  clock: 0.002 s from the database's
 *	FAIL  reaper: has not run for a day
 *	      -> add to crontab: * * * * * mcp-reaper
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

/* What is there, or nothing to worry about. */
void report_pass(const char *check, const char *fmt, ...) PRINTF(2, 3);
/* A fault, and what to do about it. */
void report_fail(const char *check, const char *remedy, const char *fmt, ...)
	PRINTF(3, 4);
/* Could not be checked, or works but is not as it should be.  REMEDY may be
 * NULL. */
void report_warn(const char *check, const char *remedy, const char *fmt, ...)
	PRINTF(3, 4);

/* How many lines were FAIL. */
int report_fails(void);

#endif
