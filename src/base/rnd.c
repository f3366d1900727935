/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/rnd.h"

#include <sys/random.h>

#include "base/log.h"

void
rnd_bytes(void *p, size_t len)
{
	unsigned char *at = p;

	while (len > 0) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			/* Predictable identifiers would be worse than none. */
			log_event(LOG_LEVEL_ERR, "rnd.failed", "why",
				strerror(errno), NULL);
			exit(EXIT_FAILURE);
		}
		at += n;
		len -= (size_t)n;
	}
}
