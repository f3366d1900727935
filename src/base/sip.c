/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/sip.h"

static uint64_t
rotl(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static void
round_once(struct sip *h)
{
	uint64_t *v = h->v;

	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

void
sip_init(struct sip *h, const uint64_t key[2])
{
	h->v[0] = key[0] ^ UINT64_C(0x736f6d6570736575);
	h->v[1] = key[1] ^ UINT64_C(0x646f72616e646f6d);
	h->v[2] = key[0] ^ UINT64_C(0x6c7967656e657261);
	h->v[3] = key[1] ^ UINT64_C(0x7465646279746573);
	h->word = 0;
	h->n = 0;
}

void
sip_byte(struct sip *h, unsigned char c)
{
	h->word |= (uint64_t)c << (8 * (h->n++ % 8));
	if (h->n % 8 == 0) {
		h->v[3] ^= h->word;
		round_once(h);
		h->v[0] ^= h->word;
		h->word = 0;
	}
}

uint64_t
sip_end(struct sip *h)
{
	h->word |= (uint64_t)h->n << 56;
	h->v[3] ^= h->word;
	round_once(h);
	h->v[0] ^= h->word;
	h->v[2] ^= 0xff;
	round_once(h);
	round_once(h);
	round_once(h);
	return h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
}
