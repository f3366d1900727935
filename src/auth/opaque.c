/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/opaque.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/hex.h"
#include "base/rnd.h"

#define PREFIX "mcp_"

enum { PREFIX_LEN = sizeof(PREFIX) - 1, SECRET_LEN = 32 };

bool
opaque_has_prefix(const char *token, size_t len)
{
	return len >= PREFIX_LEN && memcmp(token, PREFIX, PREFIX_LEN) == 0;
}

bool
opaque_is_valid(const char *token, size_t len)
{
	unsigned char secret[SECRET_LEN];
	bool ok;

	ok = len == OPAQUE_LEN && opaque_has_prefix(token, len) &&
	     hex_b64url_decode(secret, token + PREFIX_LEN, len - PREFIX_LEN) ==
		     SECRET_LEN;
	OPENSSL_cleanse(secret, sizeof(secret));
	return ok;
}

void
opaque_hash(
	const char *token, size_t len, unsigned char out[OPAQUE_HASH_LEN])
{
	SHA256((const unsigned char *)token, len, out);
}

void
opaque_make(char out[OPAQUE_LEN + 1])
{
	unsigned char secret[SECRET_LEN];

	rnd_bytes(secret, sizeof(secret));
	memcpy(out, PREFIX, PREFIX_LEN);
	hex_b64url_encode(out + PREFIX_LEN, secret, sizeof(secret));
	OPENSSL_cleanse(secret, sizeof(secret));
}
