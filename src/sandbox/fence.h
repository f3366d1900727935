/* SPDX-License-Identifier: ISC */
/*
 * fence: what the sandbox process gives up before it sees any of the
 * program: descriptors, privileges, resources, system calls.
 */
#ifndef SANDBOX_FENCE_H
#define SANDBOX_FENCE_H

/* Close every descriptor but FRAME_FD. */
void fence_close_all(void);

/*
 * No new privileges, no core, no ptrace, death with the parent, no files, no
 * processes, no further memory mappings, CPU_S seconds of processor time.
 * Returns NULL, or a literal that says what failed.
 */
MUST_CHECK const char *fence_drop(unsigned cpu_s);

/*
 * From now on only: read and write on FRAME_FD, exit, the clocks, random
 * bytes, the timer of real time (it stands still while a program waits),
 * return from a signal.  Anything else kills the process.  Returns
 * NULL, or a literal that says what failed.
 */
MUST_CHECK const char *fence_enter(void);

#endif
