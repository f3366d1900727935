/* SPDX-License-Identifier: ISC */
/*
 * banned: functions that are compile errors here, because a bounded or
 * reentrant one exists or because they start a shell.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/* A macro cannot be poisoned; glibc has some of these as macros. */
#undef alloca
#undef sprintf
#undef strcat
#undef strcpy
#undef strncat
#undef strncpy
#undef vsprintf

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok
#pragma GCC poison atoi atol atof gets localtime gmtime ctime asctime
#pragma GCC poison alloca system popen tmpnam mktemp

#endif
