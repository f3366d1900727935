/* SPDX-License-Identifier: ISC */
/*
 * scope: handles that close themselves when their block ends.
 * AUTO_FD fd = -1; AUTO_FREE char *p = NULL;  Always initialise.
 */
#ifndef BASE_SCOPE_H
#define BASE_SCOPE_H

static inline void
scope_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void
scope_free(void *p)
{
	free(*(void **)p);
}

static inline void
scope_fclose(FILE **f)
{
	if (*f != NULL)
		fclose(*f);
}

#define AUTO_FD	  __attribute__((__cleanup__(scope_close))) int
#define AUTO_FREE __attribute__((__cleanup__(scope_free)))
#define AUTO_FILE __attribute__((__cleanup__(scope_fclose))) FILE

#endif
