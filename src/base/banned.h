/* SPDX-License-Identifier: ISC */
/*
 * banned: functions that are compile errors here, because a bounded or
 * reentrant one exists or because they start a shell.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/* glibc has it as a macro, which must not be poisoned. */
#undef alloca

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok
#pragma GCC poison atoi atol atof gets localtime gmtime ctime asctime
#pragma GCC poison alloca system popen tmpnam mktemp

#endif
