/* SPDX-License-Identifier: ISC */
/* header: which header fields a request may be given; what challenges say. */
#ifndef NET_HEADER_H
#define NET_HEADER_H

/* A field name (RFC 9110 5.1), and a value without controls. */
bool header_is_valid(const char *name, const char *value);
/* Names that are the transport's own: Host, Content-Length, Proxy-... */
bool header_is_reserved(const char *name);

/*
 * OUT becomes parameter NAME of VALUE, a WWW-Authenticate (RFC 9110 11.6.1).
 * False: it has none, or it does not fit.
 */
bool header_auth_param(
	const char *value, const char *name, char *out, size_t size);

#endif
