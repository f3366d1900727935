/* SPDX-License-Identifier: ISC */
/*
 * A token ('T' and the token), the claims of a genuine one ('C' and JSON) or
 * its header ('H' and JSON).  The seeds' private keys are gone, so nothing
 * but the seeds ought to be genuine.
 */
#include "base/compat.h"

#include "auth/jws.h"

#include "auth/jwks.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/hex.h"

#define NOW 1800000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char key_set[] =
	"{\"keys\":[{\"kty\":\"RSA\",\"n\":\"rKy55wq2OIBEJ5P3LZ17lSon2"
	"DLKovNGi1ckLccZd9D2QWfdxP5AkE3Ic36vwSuZNmUg4TMktfbNK"
	"O1Ztq8MqQK8RksQGPHEDZM2cbE7zpnKiU-y44eoidzltxfhMG1Ga"
	"y-XVhUKgN5CMhiooX7rt2M05DIlvG8I7RSrYNkXqPYE6BwOxs1hM"
	"EsjBwWQBw6oOTi_ioWN1yqmhgKerZ3y_wCl1rFy_wuukatyxoMQr"
	"boQESpNZObFONo1tJdQ60yEx1IJExFBWTZ7CyLXUREpYSeT27nsZ"
	"ckDjskT5iTD5ZcNbYWjDfWRq1_b_zfFbVaUgqg0u4lFQXnzxPMv6"
	"BPmjw\",\"e\":\"AQAB\",\"kid\":\"RSA2048\"},{\"kty\":\"EC\",\""
	"crv\":\"P-256\",\"x\":\"IQcZ9KMVn3hFwW1KjJhzlWJBi-vrFWchoz"
	"LGaulIzns\",\"y\":\"zb3M_20IHZvnpcNut80zyZe7RECqIQvtwvfp"
	"6oPgwYs\",\"kid\":\"P-256\"},{\"kty\":\"EC\",\"crv\":\"P-384\""
	",\"x\":\"2CqT9nOOhZWq8PAtLOVxBVqEvazGQr3-nSR8B_H6hZrupY"
	"L-uDm4xk9u1__Oa6Ah\",\"y\":\"XKObB_8JvT2Cxd_PRBTPCtzOYDI"
	"Ek3pHnK4Anlzovw1mnq-R7-EvygW1S9a2Mth7\",\"kid\":\"P-384\""
	"},{\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"AR6Nmiqn7L-52nv3Sy"
	"0QlcBFWB8QQ5yyr32IWVCvu-ERVME4t1Uigzhu2v20FZeTehRBSg"
	"U1Ev1hXCViBjUYwEfa\",\"y\":\"AMdjKR8u_WxsdkYVeCr5pH51W3e"
	"AAnmDBCbxTv08_JbsRjqHMGbuzGKap9qKktJrIK04B6AKQniUmop"
	"BcxykrunC\",\"kid\":\"P-521\"},{\"kty\":\"OKP\",\"crv\":\"Ed25"
	"519\",\"x\":\"I5MwxVUMVDD-EvhiJUoV8uNwc7Jr2VINdcYH0x3uYm"
	"o\",\"kid\":\"Ed25519\"}]}";

static const char *audience[] = { "https://mcp.example/mcp" };
static const struct conf_list audience_list = { audience, 1 };
static const struct jws_rules rules = {
	.issuer = "https://issuer.example",
	.audience = &audience_list,
	.claim_account = "sub",
	.claim_organization = "org_id",
	.leeway_s = 30,
};

static char *
b64(struct arena *a, const void *p, size_t len)
{
	char *out = arena_alloc(a, (len * 4 + 2) / 3 + 1);

	hex_b64url_encode(out, p, len);
	return out;
}

static void
judge(const struct jws *jws, struct arena *a)
{
	struct jws_claims c;
	const char *why = NULL;
	enum jws_verdict v;

	v = jws_judge(jws, a, &rules, NOW, &c, &why);
	if (v != JWS_OK) {
		if (why == NULL)
			abort();
		return;
	}
	if (c.account_id[0] == '\0' || strlen(c.account_id) > JWS_ID_MAX ||
		c.expires_at_s <= NOW - rules.leeway_s ||
		(c.organization_id != NULL &&
			(c.organization_id[0] == '\0' ||
				strlen(c.organization_id) > JWS_ID_MAX)))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const unsigned char sig[64];
	static struct jwks *set;
	struct arena *a = arena_new(64 << 20);
	const char *why = NULL, *token = (const char *)data + 1;
	size_t token_len = len - 1;
	struct jws *jws;
	struct err e;
	void *pkey;

	if (set == NULL &&
		jwks_parse(a, key_set, sizeof(key_set) - 1, &set, &e) != 0)
		abort();
	if (len == 0)
		goto out;
	if (data[0] == 'C' || data[0] == 'H') {
		token = arena_printf(a, "%s.%s.%s",
			data[0] == 'H' ? b64(a, data + 1, len - 1)
				       : "eyJhbGciOiJFZERTQSJ9",
			data[0] == 'C' ? b64(a, data + 1, len - 1) : "e30",
			b64(a, sig, sizeof(sig)));
		token_len = strlen(token);
	}
	jws = jws_parse(a, token, token_len, &why);
	if (jws == NULL) {
		if (why == NULL)
			abort();
		goto out;
	}
	if (data[0] == 'C')
		judge(jws, a);
	else if (jwks_find(set, jws_algorithm(jws), jws_kid(jws), &pkey) ==
			 JWKS_FOUND &&
		 jws_verify(jws, pkey))
		judge(jws, a);
out:
	arena_free(a);
	return 0;
}
