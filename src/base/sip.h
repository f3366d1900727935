/* SPDX-License-Identifier: ISC */
/*
 * sip: SipHash-1-3, fed a byte at a time.  With a random key nobody outside
 * can prepare collisions, so a hash table of hostile names stays linear.
 */
#ifndef BASE_SIP_H
#define BASE_SIP_H

struct sip {
	uint64_t v[4];
	uint64_t word;
	size_t n;
};

void sip_init(struct sip *h, const uint64_t key[2]);
void sip_byte(struct sip *h, unsigned char c);
uint64_t sip_end(struct sip *h);

#endif
