/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/apitoken.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/hex.h"
#include "base/rnd.h"

#define PREFIX "mcp_"

enum { PREFIX_LEN = sizeof(PREFIX) - 1, SECRET_LEN = 32 };

bool
apitoken_has_prefix(const char *token, size_t len)
{
	return len >= PREFIX_LEN && memcmp(token, PREFIX, PREFIX_LEN) == 0;
}

bool
apitoken_is_valid(const char *token, size_t len)
{
	unsigned char secret[SECRET_LEN];
	bool ok;

	ok = len == APITOKEN_LEN && apitoken_has_prefix(token, len) &&
	     hex_b64url_decode(secret, token + PREFIX_LEN, len - PREFIX_LEN) ==
		     SECRET_LEN;
	OPENSSL_cleanse(secret, sizeof(secret));
	return ok;
}

void
apitoken_hash(
	const char *token, size_t len, unsigned char out[APITOKEN_HASH_LEN])
{
	SHA256((const unsigned char *)token, len, out);
}

void
apitoken_make(char out[APITOKEN_LEN + 1])
{
	unsigned char secret[SECRET_LEN];

	rnd_bytes(secret, sizeof(secret));
	memcpy(out, PREFIX, PREFIX_LEN);
	hex_b64url_encode(out + PREFIX_LEN, secret, sizeof(secret));
	OPENSSL_cleanse(secret, sizeof(secret));
}
