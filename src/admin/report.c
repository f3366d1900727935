/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/report.h"

static int fails;

static void line(const char *mark, const char *check, const char *remedy,
	const char *fmt, va_list ap) PRINTF(4, 0);

static void
line(const char *mark, const char *check, const char *remedy, const char *fmt,
	va_list ap)
{
	printf("%s  %s: ", mark, check);
	vprintf(fmt, ap);
	putchar('\n');
	if (remedy != NULL)
		printf("      -> %s\n", remedy);
	fflush(stdout);
}

void
report_pass(const char *check, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("PASS", check, NULL, fmt, ap);
	va_end(ap);
}

void
report_fail(const char *check, const char *remedy, const char *fmt, ...)
{
	va_list ap;

	fails++;
	va_start(ap, fmt);
	line("FAIL", check, remedy, fmt, ap);
	va_end(ap);
}

void
report_warn(const char *check, const char *remedy, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("WARN", check, remedy, fmt, ap);
	va_end(ap);
}

int
report_fails(void)
{
	return fails;
}
