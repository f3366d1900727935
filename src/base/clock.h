/* SPDX-License-Identifier: ISC */
/*
 * clock: the two clocks of a process.  Rows are never judged by them (the
 * database's clock does that); tokens and waiting times are.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

int64_t clock_wall_s(void); /* seconds since the epoch */
int64_t clock_mono_ms(void); /* milliseconds, monotonic */

#endif
