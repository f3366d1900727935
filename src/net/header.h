/* SPDX-License-Identifier: ISC */
/* header: which header fields a request may be given. */
#ifndef NET_HEADER_H
#define NET_HEADER_H

/* A field name (RFC 9110 5.1), and a value without controls. */
bool header_is_valid(const char *name, const char *value);
/* Names that are the transport's own: Host, Content-Length, Proxy-... */
bool header_is_reserved(const char *name);

#endif
