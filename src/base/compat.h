/* SPDX-License-Identifier: ISC */
/*
 * compat: first include of every .c file.  Build configuration, the system
 * headers that all files share, attributes, and last the list of functions
 * that must not be called (earlier, it would break the system's own
 * declarations).
 */
#ifndef BASE_COMPAT_H
#define BASE_COMPAT_H

#include "config.h"

#include <sys/types.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define MUST_CHECK     __attribute__((__warn_unused_result__))
#define NORETURN       __attribute__((__noreturn__))
#define PRINTF(f, a)   __attribute__((__format__(__printf__, f, a)))
#define MALLOC_LIKE    __attribute__((__malloc__, __returns_nonnull__))
#define UNUSED         __attribute__((__unused__))
#define WEAK           __attribute__((__weak__))
#define NELEM(a)       (sizeof(a) / sizeof((a)[0]))

#include "base/banned.h"

#endif
