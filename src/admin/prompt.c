/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/prompt.h"

#include <signal.h>
#include <termios.h>

#include "base/err.h"
#include "base/seal.h"

/* Not by stdio, whose buffer would keep the value. */
static ssize_t
read_all(char *out, size_t cap, bool is_line)
{
	size_t len = 0;
	ssize_t n;

	while (len < cap) {
		n = read(STDIN_FILENO, out + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		len += (size_t)n;
		if (n == 0 || (is_line && out[len - 1] == '\n'))
			break;
	}
	return (ssize_t)len;
}

static ssize_t
read_terminal(const char *name, char *out, size_t cap)
{
	struct termios old, quiet;
	sigset_t held, before;
	ssize_t n;

	if (tcgetattr(STDIN_FILENO, &old) != 0)
		return -1;
	/* An interrupt must not leave the terminal without echo. */
	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGTSTP);
	sigprocmask(SIG_BLOCK, &held, &before);
	quiet = old;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) != 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return -1;
	}
	fprintf(stderr, "value of %s (not shown): ", name);
	n = read_all(out, cap, true);
	fputc('\n', stderr);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return n;
}

int
prompt_secret(
	const char *name, char *out, size_t cap, size_t *len, struct err *e)
{
	ssize_t n = isatty(STDIN_FILENO) ? read_terminal(name, out, cap)
					 : read_all(out, cap, false);

	if (n < 0) {
		err_set(e, ERR_UNAVAILABLE, NULL, "standard input: %s",
			strerror(errno));
	} else if ((size_t)n == cap) {
		err_set(e, ERR_CONFLICT, NULL,
			"the value has more than %zu bytes", cap - 2);
	} else {
		n -= n > 0 && out[n - 1] == '\n';
		n -= n > 0 && out[n - 1] == '\r';
		out[n] = '\0';
		*len = (size_t)n;
		if (n > 0)
			return 0;
		err_set(e, ERR_CONFLICT, NULL,
			"there is no value on standard input");
	}
	seal_forget(out, cap);
	return -1;
}
