/* SPDX-License-Identifier: ISC */
/* rnd: bytes from the system's generator, getrandom(2). */
#ifndef BASE_RND_H
#define BASE_RND_H

/* Fill P with LEN random bytes.  Exits when the system has none to give. */
void rnd_bytes(void *p, size_t len);

#endif
